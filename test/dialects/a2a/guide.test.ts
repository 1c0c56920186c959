import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import test from 'ava';
import { byLoad } from '../../by-load.ts';
import { serveA2a } from './service.ts';

const service = serveA2a(test);
const execute = promisify(execFile);
const root = fileURLToPath(new URL('../../..', import.meta.url));
const page = readFileSync(`${root}/gateway/guide/a2a.md`, 'utf8');

test('the module of the page streams an answer', async (t) => {
  t.timeout(byLoad(60_000));
  const [, module = ''] = /^```ts\n(.*?)^```$/ms.exec(page) ?? [];
  const own = module.replaceAll('http://127.0.0.1:8000', service.url()).replace('/a2a/default/', '/a2a/obedient/');
  const args = ['--input-type=module-typescript', '--eval', own];
  const { stdout } = await execute(process.execPath, args, { cwd: `${root}/test`, timeout: byLoad(60_000) });
  t.is(stdout, 'you said What is 12 * 7?');
});
