import type { ToolShelf } from '@agent-workflow/gateway/tools/port';
import { keptMs } from '@agent-workflow/gateway/tools/port';
import type { RemoteTool } from '@agent-workflow/protos/execution';
import type { TestFn } from 'ava';

/** A shelf whose clock the test moves. */
export interface OpenShelf {
  readonly shelf: ToolShelf;
  readonly pass: (ms: number) => void;
}

const tool = (name: string): RemoteTool => ({ nodeName: '', name, description: '', parametersJson: Buffer.from('{}') });
const names = async (shelf: ToolShelf, owner: string): Promise<string[]> =>
  (await shelf.get(owner)).map((each) => each.name);

/** What every shelf of tools promises. */
export function toolShelfContract(test: TestFn, name: string, open: () => Promise<OpenShelf>): void {
  const check = (title: string, body: (opened: OpenShelf) => Promise<unknown[]>): void => {
    test(`${name}: ${title}`, async (t) => {
      const opened = await open();
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
    pass(keptMs - 1);
    const before = await names(shelf, 'u:a');
    await shelf.put('u:a', [tool('two')]);
    pass(keptMs - 1);
    const renewed = await names(shelf, 'u:a');
    pass(1);
    return [
      [before, renewed, await names(shelf, 'u:a')],
      [['one'], ['two'], []],
    ];
  });
}
