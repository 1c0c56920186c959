/** `npm run proto`: writes `<name>.ts` beside each `<name>.proto` of this folder. `generator.test.ts` compares the two. */
import { readCommandLine } from '@agent-workflow/kit/command-line';
import { readFileSync, writeFileSync } from 'node:fs';
import { toTypeScript } from './generator.ts';

readCommandLine({
  usage: `usage: npm run proto
  Writes the types beside each .proto file`,
});

for (const name of ['threads', 'execution', 'memory']) {
  const source = readFileSync(new URL(`./${name}.proto`, import.meta.url), 'utf8');
  writeFileSync(new URL(`./${name}.ts`, import.meta.url), toTypeScript(name, source));
}
