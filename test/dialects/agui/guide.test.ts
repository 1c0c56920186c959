import { execFile } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import test from 'ava';
import { byLoad } from '../../by-load.ts';
import { serve } from '../../http/service.ts';
import { testedAgent } from '../../servers/standalone.ts';

const service = serve(test, 'echo', { DIALECTS: 'agui' });
const execute = promisify(execFile);
const root = fileURLToPath(new URL('../../..', import.meta.url));
const page = readFileSync(`${root}/gateway/guide/ag-ui.md`, 'utf8');

test('the module of the page prints what the agent says, and the state', async (t) => {
  t.timeout(byLoad(60_000));
  const [, module = ''] = /^```ts\n(.*?)^```$/ms.exec(page) ?? [];
  const own = module.replaceAll('http://127.0.0.1:8000/agui/default', `${service.url()}/agui/${testedAgent}`);
  t.not(own, module);
  const args = ['--input-type=module-typescript', '--eval', own];
  const { stdout } = await execute(process.execPath, args, { cwd: `${root}/test`, timeout: byLoad(60_000) });
  t.regex(stdout, /What is 12 \* 7\?[^]*\n\{/);
});
