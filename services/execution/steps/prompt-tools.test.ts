import test from 'ava';
import { tool } from '@agent-workflow/graph';
import { createPromptTools } from './prompt-tools.ts';

const declared = (name: string): Parameters<ReturnType<typeof createPromptTools>['mayBe']>[0][number] =>
  tool({ name, description: '', parameters: {}, replay: 'pure' }, () => undefined);
const [add, count] = [declared('add'), declared('count')];

test('a tool that was late twice in a row is not tried for a second, and twice as long each time that it is late again', (t) => {
  let time = 0;
  const { mayBe, note } = createPromptTools(() => time);
  t.true(mayBe([add]));
  note([add], false);
  t.true(mayBe([add]));
  note([add], false);
  const pauses: number[] = [];
  for (let index = 0; index < 8; index++) {
    const from = time;
    while (!mayBe([add])) time += 500;
    pauses.push(time - from);
    note([add], false);
  }
  t.deepEqual(pauses, [1000, 2000, 4000, 8000, 16_000, 32_000, 60_000, 60_000]);
});

test('a tool that was prompt again begins anew', (t) => {
  const { mayBe, note } = createPromptTools(() => 0);
  note([add], false);
  note([add], true);
  note([add], false);
  t.true(mayBe([add]));
});

test('tools that are called together are tried when each of them may be', (t) => {
  const { mayBe, note } = createPromptTools(() => 0);
  for (let index = 0; index < 2; index++) note([count], false);
  t.false(mayBe([add, count]));
  t.true(mayBe([add]));
});
