import { readFileSync } from 'node:fs';
import { mkdtempDisposable, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test from 'ava';
import { byLoad } from '../../by-load.ts';
import { serve } from '../../http/service.ts';
import { pythonWith, runPrinting } from '../../servers/python.ts';
import { testedAgent } from '../../servers/standalone.ts';

const service = serve(test, 'typing', { DIALECTS: 'agui' });

interface Report {
  readonly diagnostics: readonly unknown[];
  readonly eventCount: number;
}

test('a validator that others wrote finds nothing in a stream, live and recorded', async (t) => {
  t.timeout(byLoad(300_000));
  const programs = await pythonWith('ag-ui-validate[transport]==0.4.0');
  t.truthy(programs, 'this takes Python 3 and a package index');
  const url = `${service.url()}/agui/${testedAgent}`;
  const validate = async (source: string): Promise<void> => {
    const { code, text } = await runPrinting(`${programs ?? ''}/ag-ui-validate`, [source, '--json']);
    t.is(code, 0, text);
    const { diagnostics, eventCount } = JSON.parse(text) as Report;
    t.deepEqual(diagnostics, []);
    t.true(eventCount > 30);
  };
  await validate(url);
  // A tool, what the node reports, and a question.
  const content = 'are you sure what time it is';
  const body = JSON.stringify({ threadId: 'recorded', runId: 'run', messages: [{ id: 'm', role: 'user', content }] });
  const reply = await fetch(url, { method: 'POST', headers: { 'content-type': 'application/json' }, body });
  await using folder = await mkdtempDisposable(join(tmpdir(), 'ag-ui-'));
  const file = join(folder.path, 'stream.sse');
  await writeFile(file, await reply.text());
  await validate(file);
  const page = readFileSync(new URL('../../../gateway/guide/ag-ui.md', import.meta.url), 'utf8');
  t.true(page.includes('| `ag-ui-validate` 0.4.0, a live run and a recorded one | 0 |'));
});
