import type { TestFn } from 'ava';
import { sizes } from '@agent-workflow/kit/sizes';
import type { ClaimedRun, Threads } from '@agent-workflow/protos/threads';
import {
  accept,
  answering,
  bytes,
  call,
  calling,
  claim,
  commit,
  completed,
  interrupted,
  noInput,
  owner,
  parse,
  thread1,
  twoCalls,
  user,
} from './thread-calls.ts';
import { checkOn, type OpenThreads } from './thread-stores/threads-open.ts';

const tool = (name: string, parts: object = {}): object => ({
  node: '',
  name,
  description: '',
  parameters: {},
  ...parts,
});
const setUp = (name: string, parts: object = {}): object => tool(name, { ...parts, isSetUp: true });
const withTools = (...tools: readonly object[]): { readonly optionsJson: Uint8Array } => ({
  optionsJson: bytes(JSON.stringify({ config: { of: 'this run' }, tools, recursionLimit: 7 })),
});
const toolsIn = ({ optionsJson }: ClaimedRun): unknown => (parse(optionsJson) as { readonly tools: unknown }).tools;
const namesIn = (claimed: ClaimedRun): string[] =>
  (toolsIn(claimed) as { readonly name: string }[]).map(({ name }) => name);

/** What the record promises of the tools of a run that others go on from. */
export function threadsKeptToolsContract(test: TestFn, name: string, open: OpenThreads): void {
  const check = checkOn(test, name, open);

  /** A run with these tools that ends waiting for two answers. */
  const interruptedWith = async (threads: Threads, runId: string, ...tools: readonly object[]): Promise<string> => {
    await accept(threads, runId, withTools(...tools));
    const { epoch } = await claim(threads, runId);
    const end = { messages: [calling], openCalls: twoCalls, next: ['tools'], end: interrupted };
    return String((await commit(threads, runId, epoch, end)).version);
  };
  const goOn = async (threads: Threads, runId: string, ...tools: readonly object[]): Promise<ClaimedRun> => {
    await accept(threads, runId, { ...answering('c1'), ...withTools(...tools) });
    return claim(threads, runId);
  };

  check('a run that goes on keeps the tools of the one before, and whatever else is its own', async (t, threads) => {
    await interruptedWith(threads, 'r1', tool('look', { description: 'ä' }), setUp('listen'));
    const claimed = await goOn(threads, 'r2');
    t.deepEqual(parse(claimed.optionsJson), {
      config: { of: 'this run' },
      tools: [tool('look', { description: 'ä' }), setUp('listen')],
      recursionLimit: 7,
    });
  });

  check('so it does when the acceptance claims it', async (t, threads) => {
    await interruptedWith(threads, 'r1', tool('look'));
    const at = { ...answering('c1'), ...withTools(), claim: { workerId: 'w1' }, attemptId: 'a' };
    const { claimed } = await accept(threads, 'r2', at);
    t.deepEqual(claimed && namesIn(claimed), ['look']);
    const again = await accept(threads, 'r2', at);
    t.deepEqual(again.claimed && namesIn(again.claimed), ['look']);
  });

  check('the tools go from run to run, and to whoever takes a run over', async (t, threads) => {
    await interruptedWith(threads, 'r1', tool('look'));
    const second = await goOn(threads, 'r2');
    const { openCalls, next, epoch } = second;
    await commit(threads, 'r2', epoch, { openCalls, next, end: interrupted });
    await accept(threads, 'r3', { ...answering('c2'), ...withTools() });
    const third = await claim(threads, 'r3');
    t.deepEqual(namesIn(third), ['look']);
    const taken = await claim(threads, 'r3', { workerId: 'w2', takeoverEpoch: third.epoch });
    t.true(taken.isTakeover);
    t.deepEqual(namesIn(taken), ['look']);
  });

  check('a run whose request declares tools has these alone', async (t, threads) => {
    await interruptedWith(threads, 'r1', tool('look'));
    t.deepEqual(namesIn(await goOn(threads, 'r2', tool('other'), setUp('listen'))), ['other', 'listen']);
  });

  check(
    'tools that were set up since come behind declared ones and before those set up earlier',
    async (t, threads) => {
      await interruptedWith(threads, 'r1', tool('look'), setUp('listen', { description: 'old' }), setUp('smell'));
      const since = [setUp('look', { description: 'set up' }), setUp('listen', { description: 'new' }), setUp('taste')];
      t.deepEqual(toolsIn(await goOn(threads, 'r2', ...since)), [
        tool('look'),
        setUp('listen', { description: 'new' }),
        setUp('taste'),
        setUp('smell'),
      ]);
    },
  );

  check('however often another list is set up, a run has no more tools than one may have', async (t, threads) => {
    const large = setUp('large', { parameters: { text: 'x'.repeat(sizes.toolsTogether - 100_000) } });
    await interruptedWith(threads, 'r1', tool('look'), large);
    const more = setUp('more', { parameters: { text: 'x'.repeat(200_000) } });
    t.deepEqual(namesIn(await goOn(threads, 'r2', more)), ['look', 'more']);
  });

  check('a user message in place of answers keeps them, and the run after that has none', async (t, threads) => {
    await interruptedWith(threads, 'r1', tool('look'));
    await accept(threads, 'r2', withTools());
    const second = await claim(threads, 'r2');
    t.deepEqual(namesIn(second), ['look']);
    await commit(threads, 'r2', second.epoch, { end: completed });
    await accept(threads, 'r3', withTools());
    t.deepEqual(namesIn(await claim(threads, 'r3')), []);
  });

  check('a run that waited behind the one that asks keeps the tools of that', async (t, threads) => {
    await accept(threads, 'r1', withTools(tool('look')));
    const { epoch } = await claim(threads, 'r1');
    await accept(threads, 'r2', { ...answering('c1'), ...withTools() });
    await commit(threads, 'r1', epoch, { openCalls: twoCalls, next: ['tools'], messages: [calling], end: interrupted });
    t.deepEqual(namesIn(await claim(threads, 'r2')), ['look']);
  });

  check('a rollback of the run that went on leaves the tools to the one in its place', async (t, threads) => {
    await interruptedWith(threads, 'r1', tool('look'));
    await goOn(threads, 'r2', tool('other'));
    await accept(threads, 'r3', { ...answering('c1'), ...withTools(), multitaskStrategy: 'rollback' });
    const claimed = await claim(threads, 'r3');
    t.is(claimed.resumes, 'r1');
    t.deepEqual(namesIn(claimed), ['look']);
  });

  check('an answer to a question of a node keeps them', async (t, threads) => {
    await accept(threads, 'r1', withTools(tool('look')));
    const { epoch } = await claim(threads, 'r1');
    await commit(threads, 'r1', epoch, { next: ['a'], openInterrupts: ['r1/0/a/0'], end: interrupted });
    await accept(threads, 'r2', { ...noInput, resume: { keys: [] }, ...withTools() });
    const second = await claim(threads, 'r2');
    t.is(second.resumes, 'r1');
    t.deepEqual(namesIn(second), ['look']);
  });

  check('a fork of a thread that waits keeps them too', async (t, threads) => {
    const checkpointId = await interruptedWith(threads, 'r1', tool('look'));
    await threads.forkThread({ ...thread1, checkpointId, newThreadId: 'fork' }, call());
    await accept(threads, 'f1', { threadId: 'fork', ...answering('c1', 'c2'), ...withTools() });
    t.deepEqual(namesIn(await claim(threads, 'f1', { threadId: 'fork' })), ['look']);
  });

  check('no other thread and no other owner gets them', async (t, threads) => {
    await interruptedWith(threads, 'r1', tool('look'));
    await accept(threads, 's1', { threadId: 't2', ...withTools() });
    t.deepEqual(namesIn(await claim(threads, 's1', { threadId: 't2' })), []);
    await accept(threads, 's2', { owner: `${owner}2`, messages: [user('m')], ...withTools() });
    t.deepEqual(namesIn(await claim(threads, 's2', { owner: `${owner}2` })), []);
  });
}
