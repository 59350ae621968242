# cmake -DOUTPUT=x.cpp -DNAMES=a;b -DFILES=/path/a;/path/b -P embed_text.cmake
# Writes a C++ file that defines etc::kBuiltinTexts with each file's text under its name.
set(code "#include \"emit/builtin_texts.h\"\n\nnamespace etc {\n\nconst BuiltinText kBuiltinTexts[] = {\n")
foreach(name file IN ZIP_LISTS NAMES FILES)
  file(READ "${file}" text)
  if(text MATCHES "\\)etc_text\"")
    message(FATAL_ERROR "${file} has the text that ends an embedded file")
  endif()
  string(APPEND code "    {\"${name}\", R\"etc_text(${text})etc_text\"},\n")
endforeach()
string(APPEND code "};\nconst size_t kBuiltinTextCount = sizeof(kBuiltinTexts) / sizeof(kBuiltinTexts[0]);\n\n}  // namespace etc\n")
file(WRITE "${OUTPUT}" "${code}")
