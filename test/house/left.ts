/** `npx node test/house/left.ts`: writes into `left.json` how many replaced words, idle exports and early names each file still has. */
import { writeFileSync } from 'node:fs';
import { earlyNames } from './early-names.ts';
import { allHits } from './glossary.ts';
import { idleExports } from './idle-exports.ts';
import { perFile } from './shrinking.ts';

const left = { words: perFile(allHits()), exports: perFile(idleExports()), early: perFile(earlyNames()) };
writeFileSync(new URL('./left.json', import.meta.url), `${JSON.stringify(left, undefined, 2)}\n`);
