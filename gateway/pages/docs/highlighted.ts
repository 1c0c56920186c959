import * as languages from '@speed-highlight/core/languages';
import { tokenizeWith, type ShjGrammar, type ShjLanguageData, type ShjToken } from '@speed-highlight/core/tokenize';
import { escaped } from './escaped.ts';

/** The kinds of characters that have a colour of their own. */
const classes: Partial<Record<ShjToken, string>> = {
  kwd: 'code-word',
  bool: 'code-word',
  var: 'code-word',
  str: 'code-text',
  num: 'code-number',
  cmnt: 'code-note',
};

/** By their types as declared, their rules hold `undefined` where a rule of the library's own type has nothing. */
const known = languages as Readonly<Record<string, unknown>> as Record<keyof typeof languages, ShjLanguageData>;
const { ts, js, json, yaml, docker, bash } = known;

const grammarOf = (language: ShjLanguageData): ShjGrammar => ('sub' in language ? language.sub : language);

/** What stands between single quotes in a shell may have several lines, and is often the JSON of a body. */
const quoted: ShjGrammar = [
  {
    match: /'[^']*'/g,
    sub: (text): ShjLanguageData =>
      text.startsWith("'{") ? grammarOf(json) : { type: 'str', sub: [] satisfies ShjGrammar },
  },
];

const grammars: Readonly<Record<string, ShjLanguageData>> = {
  ts,
  js,
  json,
  yaml,
  dockerfile: docker,
  sh: [...quoted, ...grammarOf(bash)],
};

/** A text of code as HTML, its parts with classes by what they are. What has no grammar here stays plain; a text in braces is read as JSON. */
function highlighted(code: string, language = ''): string {
  const grammar = grammars[language === '' && /^[{[]/.test(code) ? 'json' : language];
  if (!grammar) return escaped(code);
  const parts: string[] = [];
  tokenizeWith(
    code,
    grammar,
    (text, token) => {
      const name = token && classes[token];
      if (text !== '') parts.push(name === undefined ? escaped(text) : `<span class="${name}">${escaped(text)}</span>`);
    },
    { languages: known },
  );
  return parts.join('');
}

/** What a language is called above its block. */
const names: Readonly<Record<string, string>> = {
  ts: 'TypeScript',
  js: 'JavaScript',
  json: 'JSON',
  yaml: 'YAML',
  dockerfile: 'Dockerfile',
  sh: 'Shell',
};

/** A block of code below a line with its language, to which the script of the page adds a button that copies it. */
export const codeBlock = (code: string, language = ''): string =>
  `<div class="code"><p>${names[language] ?? 'Output'}</p><pre tabindex="0"><code>${highlighted(code, language)}</code></pre></div>\n`;
