import { toolsTtlMs, type ToolStore } from '@agent-workflow/gateway/tools';
import type { RemoteTool } from '@agent-workflow/protos/execution';
import type { ExecutionContext, TestFn } from 'ava';

/** A shelf whose clock the test moves. */
interface OpenShelf {
  readonly store: ToolStore;
  readonly pass: (ms: number) => Promise<void>;
}

/** Longer than a slow machine takes between two lines, in milliseconds: how near a test goes to an end. */
const nearMs = 60_000;

const tool = (name: string): RemoteTool => ({ nodeName: '', name, description: '', parametersJson: Buffer.from('{}') });
const names = async (store: ToolStore, owner: string): Promise<string[]> =>
  (await store.get(owner)).map((each) => each.name);

/** What every shelf of tools promises. */
export function toolStoreContract(test: TestFn, name: string, open: (t: ExecutionContext) => Promise<OpenShelf>): void {
  const check = (title: string, body: (opened: OpenShelf) => Promise<unknown[]>): void => {
    test(`${name}: ${title}`, async (t) => {
      const opened = await open(t);
      t.teardown(() => opened.store[Symbol.asyncDispose]());
      const [found, expected] = await body(opened);
      t.deepEqual(found, expected);
    });
  };

  check('an owner without tools has none', async ({ store }) => [await names(store, 'u:a'), []]);

  check('a new list takes the place of the one before', async ({ store }) => {
    await store.put('u:a', [tool('one'), tool('two')]);
    await store.put('u:a', [tool('three')]);
    return [await names(store, 'u:a'), ['three']];
  });

  check('owners have lists of their own', async ({ store }) => {
    await Promise.all(['u:a', 'u:b', 'anon'].map((owner) => store.put(owner, [tool(owner)])));
    return [
      await Promise.all(['u:a', 'u:b', 'anon', 'u:c'].map((owner) => names(store, owner))),
      [['u:a'], ['u:b'], ['anon'], []],
    ];
  });

  check('an empty list leaves nothing', async ({ store }) => {
    await store.put('u:a', [tool('one')]);
    await store.put('u:a', []);
    return [await names(store, 'u:a'), []];
  });

  check('tools come back as they were put', async ({ store }) => {
    const whole = {
      ...tool('whole'),
      nodeName: 'tools',
      description: 'Does it',
      parametersJson: Buffer.from('{"type":"object"}'),
    };
    await store.put('u:a', [whole]);
    return [[...(await store.get('u:a'))], [whole]];
  });

  check('tools last a day, counted from the last time', async ({ store, pass }) => {
    await store.put('u:a', [tool('one')]);
    await pass(toolsTtlMs - nearMs);
    const before = await names(store, 'u:a');
    await store.put('u:a', [tool('two')]);
    await pass(toolsTtlMs - nearMs);
    const renewed = await names(store, 'u:a');
    await pass(nearMs);
    return [
      [before, renewed, await names(store, 'u:a')],
      [['one'], ['two'], []],
    ];
  });

  check('owners of any characters, and tools of any text, come back as they were put', async ({ store }) => {
    const odd = ['u:ä ö', 'u:日本', 'u:"\\', 'u::', `u:${'x'.repeat(256)}`, 'u:{}[],*'];
    const parametersJson = Buffer.from(JSON.stringify({ title: 'ä\n"', enum: odd }));
    const toolOf = (owner: string): RemoteTool => ({ ...tool(owner), description: `${owner}\n\u0000`, parametersJson });
    for (const owner of odd) await store.put(owner, [toolOf(owner), tool('plain')]);
    return [
      await Promise.all(odd.map(async (owner) => [...(await store.get(owner))])),
      odd.map((owner) => [toolOf(owner), tool('plain')]),
    ];
  });
}
