"""The files of a model's folder beside its safetensors."""

import datetime
import json
import math
import stat
from pathlib import Path
from typing import Any, Dict, List, Mapping, NoReturn, Tuple, Union


def _check_regular(file: Path) -> None:
    """A pipe that nobody writes to would be waited for."""
    if not file.exists():
        raise ValueError(f"{file} is missing")
    if not stat.S_ISREG(file.stat().st_mode):
        raise ValueError(f"{file}: it is no regular file")


def _read_object(file: Path) -> Dict[str, Any]:
    _check_regular(file)
    try:
        value = json.loads(file.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise ValueError(f"{file}: {error}") from None
    if not isinstance(value, dict):
        raise ValueError(f"{file}: the text is no JSON object")
    return value


def model_config(folder: Path) -> Tuple[Dict[str, Any], str]:
    """The configuration of the model of text, and what stands before its names in the checkpoint."""
    file = folder / "config.json"
    config = _read_object(file)
    if "text_config" not in config:
        return config, ""
    if not isinstance(config["text_config"], dict):
        raise ValueError(f"{file}: `text_config` must be an object")
    return config["text_config"], "language_model."


def _is_close(value: Any, constant: Union[bool, int, float]) -> bool:
    try:
        return isinstance(value, (int, float)) and math.isclose(value, constant)
    except OverflowError:  # an integer that is no float
        return False


def check_constants(config: Mapping[str, Any],
                    constants: Mapping[str, Union[bool, int, float]]) -> None:
    """A program is for the configuration with which it was compiled, but for the number of positions,
    of which it may take fewer."""
    for name, constant in constants.items():
        value = config.get(name)
        if value is None or name == "max_position_embeddings":
            continue
        if not _is_close(value, constant):
            raise ValueError(f"config.json: `{name}` is {json.dumps(value)}, and the program was "
                             f"compiled with {json.dumps(constant)}")


def end_tokens(folder: Path, config: Dict[str, Any]) -> List[int]:
    """The tokens that end a text."""
    name = "eos_token_id"
    file = folder / "generation_config.json"
    settings = _read_object(file) if file.exists() else {}
    if name not in settings:
        file, settings = folder / "config.json", config
    ends = settings.get(name)
    listed = ends if isinstance(ends, list) else [] if ends is None else [ends]
    if not all(type(end) is int for end in listed):
        raise ValueError(f"{file}: `{name}` is {json.dumps(ends)}, and must be a token or a list of "
                         "tokens")
    return listed


def read_tokenizer(folder: Path) -> Any:
    try:
        import tokenizers
    except ImportError as error:
        raise ValueError("the package tokenizers is missing: pip install 'etcrt[generate]'") from error
    file = folder / "tokenizer.json"
    _check_regular(file)
    try:
        return tokenizers.Tokenizer.from_file(str(file))
    except Exception as error:  # the package raises no kind of its own
        raise ValueError(f"{file}: {error}") from error


def tokens_of(tokenizer: Any, text: str, add_special_tokens: bool) -> List[int]:
    try:
        text.encode()
    except UnicodeEncodeError:
        raise ValueError(f"the prompt {json.dumps(text)} is no UTF-8") from None
    try:
        tokens = tokenizer.encode(text, add_special_tokens=add_special_tokens).ids
    except Exception as error:  # the package raises no kind of its own
        raise ValueError(f"the prompt {json.dumps(text)}: {error}") from error
    if not tokens:
        raise ValueError("a prompt has no tokens")
    return tokens


def check_tokens(tokenizer: Any, prompts: List[List[int]], known: Tuple[int, int]) -> None:
    """Those of a tokenizer may be more than a program has."""
    for token in (token for prompt in prompts for token in prompt):
        if not known[0] <= token <= known[1]:
            text = json.dumps(tokenizer.id_to_token(token), ensure_ascii=False)
            raise ValueError(f"tokenizer.json: the token {token}, {text}, is not from {known[0]} to "
                             f"{known[1]}, as the program's are")


def _chat_template(folder: Path, settings: Dict[str, Any]) -> str:
    file = folder / "chat_template.jinja"
    if file.exists():
        _check_regular(file)
        try:
            return file.read_text(encoding="utf-8")
        except UnicodeDecodeError as error:
            raise ValueError(f"{file}: {error}") from None
    template = settings.get("chat_template")
    if isinstance(template, list):
        template = next((one.get("template") for one in template
                         if isinstance(one, dict) and one.get("name") == "default"), None)
    if template is None:
        raise ValueError(f"--chat: `{folder}` has no chat template")
    if not isinstance(template, str):
        raise ValueError(f"{folder / 'tokenizer_config.json'}: `chat_template` must be a text, or a list "
                         "of objects with `name` and `template`")
    return template


def _special_tokens(settings: Dict[str, Any]) -> Dict[str, str]:
    tokens = {}
    for name in ("bos_token", "eos_token"):
        value = settings.get(name)
        text = value.get("content") if isinstance(value, dict) else value
        tokens[name] = text if isinstance(text, str) else ""
    return tokens


def chat_text(folder: Path, prompt: str) -> str:
    """The prompt as a user's message in the folder's chat template."""
    try:
        import jinja2.sandbox
    except ImportError as error:
        raise ValueError("--chat needs the package jinja2") from error

    def refuse(message: str) -> NoReturn:
        raise jinja2.TemplateError(message)

    file = folder / "tokenizer_config.json"
    settings = _read_object(file) if file.exists() else {}
    template = _chat_template(folder, settings)
    environment = jinja2.sandbox.ImmutableSandboxedEnvironment(
        trim_blocks=True, lstrip_blocks=True, extensions=["jinja2.ext.loopcontrols"])
    environment.globals["raise_exception"] = refuse
    environment.globals["strftime_now"] = lambda form: datetime.datetime.now().strftime(form)
    try:
        return environment.from_string(template).render(
            messages=[{"role": "user", "content": prompt}], tools=None, documents=None,
            add_generation_prompt=True, **_special_tokens(settings))
    except jinja2.TemplateSyntaxError as error:
        raise ValueError(f"--chat: line {error.lineno} of the chat template of `{folder}`: {error.message}") from error
    except Exception as error:  # a template is a program, which may fail in any way
        raise ValueError(f"--chat: the chat template of `{folder}`: {error}") from error
