import test from 'ava';
import { openSqliteThreadStore } from '@agent-workflow/threads/adapters/sqlite/store';
import { hashOfDefinition } from '@agent-workflow/protos/definition-checks';
import { createThreads } from '@agent-workflow/threads/threads';
import { accept, bytes, call, claim, commit, completed } from './thread-calls.ts';

const agent = 'support';

test('a thread that went to a new revision does not go back where a replica knows only the routing before', async (t) => {
  await using store = openSqliteThreadStore({ path: ':memory:' });
  const [first, second] = [createThreads({ store }), createThreads({ store })];
  const makeCurrent = async (revision: string, version: number): Promise<void> => {
    const codeFields = { reduced: [], checked: [] };
    const definition = {
      graphJson: bytes('{"nodes":[],"edges":[]}'),
      fieldsJson: bytes('{}'),
      toolsJson: bytes('[]'),
      nodes: [revision],
      codeFields,
    };
    const schemaHash = hashOfDefinition(definition);
    await first.registerRevision({ agent, revision, schemaHash, definition, makeCurrent: { version } }, call());
  };
  const run = async (threads: typeof first, runId: string): Promise<string | undefined> => {
    const { revision = '' } = await accept(threads, runId, { agent });
    const { epoch } = await claim(threads, runId, { agent, revision });
    await commit(threads, runId, epoch, { end: completed });
    return revision;
  };
  await makeCurrent('a', 0);
  t.deepEqual([await run(first, 'r1'), await run(second, 'r2')], ['a', 'a']);
  await makeCurrent('b', 1);
  t.deepEqual([await run(first, 'r3'), await run(second, 'r4'), await run(first, 'r5')], ['b', 'b', 'b']);
});
