import { keptMs, type ToolShelf } from '@agent-workflow/gateway/tools';
import type { RemoteTool } from '@agent-workflow/protos/execution';
import type { ExecutionContext, TestFn } from 'ava';

/** A shelf whose clock the test moves. */
export interface OpenShelf {
  readonly shelf: ToolShelf;
  readonly pass: (ms: number) => Promise<void>;
}

/** Longer than a slow machine takes between two lines, in milliseconds: how near a test goes to an end. */
const nearMs = 60_000;

const tool = (name: string): RemoteTool => ({ nodeName: '', name, description: '', parametersJson: Buffer.from('{}') });
const names = async (shelf: ToolShelf, owner: string): Promise<string[]> =>
  (await shelf.get(owner)).map((each) => each.name);

/** What every shelf of tools promises. */
export function toolShelfContract(test: TestFn, name: string, open: (t: ExecutionContext) => Promise<OpenShelf>): void {
  const check = (title: string, body: (opened: OpenShelf) => Promise<unknown[]>): void => {
    test(`${name}: ${title}`, async (t) => {
      const opened = await open(t);
      t.teardown(() => opened.shelf[Symbol.asyncDispose]());
      const [found, expected] = await body(opened);
      t.deepEqual(found, expected);
    });
  };

  check('an owner without tools has none', async ({ shelf }) => [await names(shelf, 'u:a'), []]);

  check('a new list takes the place of the one before', async ({ shelf }) => {
    await shelf.put('u:a', [tool('one'), tool('two')]);
    await shelf.put('u:a', [tool('three')]);
    return [await names(shelf, 'u:a'), ['three']];
  });

  check('owners have lists of their own', async ({ shelf }) => {
    await Promise.all(['u:a', 'u:b', 'anon'].map((owner) => shelf.put(owner, [tool(owner)])));
    return [
      await Promise.all(['u:a', 'u:b', 'anon', 'u:c'].map((owner) => names(shelf, owner))),
      [['u:a'], ['u:b'], ['anon'], []],
    ];
  });

  check('an empty list leaves nothing', async ({ shelf }) => {
    await shelf.put('u:a', [tool('one')]);
    await shelf.put('u:a', []);
    return [await names(shelf, 'u:a'), []];
  });

  check('tools come back as they were put', async ({ shelf }) => {
    const whole = {
      ...tool('whole'),
      nodeName: 'tools',
      description: 'Does it',
      parametersJson: Buffer.from('{"type":"object"}'),
    };
    await shelf.put('u:a', [whole]);
    return [[...(await shelf.get('u:a'))], [whole]];
  });

  check('tools last a day, counted from the last time', async ({ shelf, pass }) => {
    await shelf.put('u:a', [tool('one')]);
    await pass(keptMs - nearMs);
    const before = await names(shelf, 'u:a');
    await shelf.put('u:a', [tool('two')]);
    await pass(keptMs - nearMs);
    const renewed = await names(shelf, 'u:a');
    await pass(nearMs);
    return [
      [before, renewed, await names(shelf, 'u:a')],
      [['one'], ['two'], []],
    ];
  });

  check('owners of any characters, and tools of any text, come back as they were put', async ({ shelf }) => {
    const odd = ['u:ä ö', 'u:日本', 'u:"\\', 'u::', `u:${'x'.repeat(256)}`, 'u:{}[],*'];
    const parametersJson = Buffer.from(JSON.stringify({ title: 'ä\n"', enum: odd }));
    const toolOf = (owner: string): RemoteTool => ({ ...tool(owner), description: `${owner}\n\u0000`, parametersJson });
    for (const owner of odd) await shelf.put(owner, [toolOf(owner), tool('plain')]);
    return [
      await Promise.all(odd.map(async (owner) => [...(await shelf.get(owner))])),
      odd.map((owner) => [toolOf(owner), tool('plain')]),
    ];
  });
}
