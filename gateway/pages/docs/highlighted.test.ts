import test from 'ava';
import { codeBlock } from './highlighted.ts';

/** The code of a block. */
const highlighted = (code: string, language?: string): string =>
  /<code>([^]*)<\/code>/.exec(codeBlock(code, language))?.[1] ?? '';

const text = (html: string): string => html.replaceAll(/<\/?span[^>]*>/g, '');

test('parts of code have classes by what they are', (t) => {
  t.is(
    highlighted(`const n = 1; // one`, 'ts'),
    '<span class="code-word">const</span> n = <span class="code-number">1</span>; <span class="code-note">// one</span>',
  );
  t.regex(highlighted(`curl "$URL" # go`, 'sh'), /<span class="code-note"># go<\/span>/);
});

test('the JSON of a body stands in a command as JSON, over several lines', (t) => {
  const html = highlighted(`curl -d '{\n  "a": 1}' | grep -o 'b'`, 'sh');
  t.regex(html, /<span class="code-word">&quot;a&quot;<\/span>/);
  t.regex(html, /<span class="code-text">&#39;b&#39;<\/span>/);
});

test('a text in braces is read as JSON, any other that names no language stays plain', (t) => {
  t.regex(highlighted('{"a": true}'), /<span class="code-word">true<\/span>/);
  t.is(highlighted('true if 1'), 'true if 1');
  t.is(highlighted('true', 'klingon'), 'true');
});

test('no character is lost or becomes markup', (t) => {
  const code = `a <b> & 'c' "d" \`e \${f}\` // </span>\n`;
  for (const language of ['ts', 'js', 'json', 'yaml', 'sh', 'dockerfile', ''])
    t.is(
      text(highlighted(code, language)),
      code
        .replaceAll('&', '&amp;')
        .replaceAll('<', '&lt;')
        .replaceAll('>', '&gt;')
        .replaceAll('"', '&quot;')
        .replaceAll("'", '&#39;'),
      language,
    );
});
