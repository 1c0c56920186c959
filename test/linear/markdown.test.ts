import { emptyMarkdown, growMarkdown } from '@agent-workflow/playground/growing-markdown';
import test from 'ava';
import { isLinear, measure } from './growth.ts';
import { markdownTexts } from './markdown-texts.ts';
import { texts } from './texts.ts';

/** Reads a whole text as the page does, slice by slice. */
function read(text: string): void {
  let state = emptyMarkdown;
  do state = growMarkdown(state, text, false);
  while (state.state === 'reading');
}

/** Reads a text as the page does while it comes in ten chunks. */
function readGrowing(text: string): void {
  let state = emptyMarkdown;
  for (let part = 1; part <= 10; part++) state = growMarkdown(state, text.slice(0, (text.length * part) / 10), true);
}

for (const [name, make] of Object.entries({ ...texts, ...markdownTexts })) {
  test.serial(`Markdown, ${name}: ten times the text takes about ten times as long`, async (t) => {
    const small = await measure(read, { short: make(800), long: make(8000) });
    t.true(isLinear(small), `8 KB: ${JSON.stringify(small)}`);
    const large = await measure(read, { short: make(12_600), long: make(126_000) });
    t.true(isLinear(large), `126 KB: ${JSON.stringify(large)}`);
    const growing = await measure(readGrowing, { short: make(800), long: make(8000) });
    t.true(isLinear(growing), `growing to 8 KB: ${JSON.stringify(growing)}`);
  });
}
