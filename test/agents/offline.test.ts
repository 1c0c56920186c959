import { offlineBrain } from '@agent-workflow/execution/agents/default/offline';
import { textOf } from '@agent-workflow/graph';
import test from 'ava';
import { converse } from './drive.ts';

const toolNames = (messages: readonly { readonly content: readonly Readonly<Record<string, unknown>>[] }[]) =>
  messages.flatMap(({ content }) => content.filter(({ type }) => type === 'tool_call').map(({ name }) => name));

test('a greeting is answered, word by word', async (t) => {
  await using talk = await converse(offlineBrain);
  const { reply, chunks, messages } = await talk.send('Hello!');
  t.deepEqual(reply, ['Hello! What can I do for you?']);
  t.deepEqual(chunks, ['Hello!', ' What', ' can', ' I', ' do', ' for', ' you?']);
  t.is(messages.length, 1);
});

test('every word is on its way before the next is said', async (t) => {
  await using talk = await converse(offlineBrain);
  const order: unknown[] = [];
  await talk.send('Hi', {
    onChunk: (chunk) => {
      order.push(chunk);
      setImmediate(() => order.push('sent'));
    },
  });
  t.deepEqual(order.slice(0, 4), ['Hello!', 'sent', ' What', 'sent']);
});

test('arithmetic goes through the calculator, and the conversation shows it', async (t) => {
  await using talk = await converse(offlineBrain);
  const { reply, messages } = await talk.send('What is 12 times (3 + 4)?');
  t.deepEqual(
    messages.map(({ role }) => role),
    ['assistant', 'tool', 'assistant'],
  );
  t.deepEqual(toolNames(messages), ['calculate']);
  t.is(reply.at(-1), '12 * (3 + 4) = 84');
});

test('several things asked at once are called at once and answered in order', async (t) => {
  await using talk = await converse(offlineBrain);
  const { reply, messages } = await talk.send('Hi! What is 15% of 80 and what time is it in Tokyo?');
  t.deepEqual(toolNames(messages), ['calculate', 'current_time']);
  t.is(reply[0], 'Hello! What can I do for you?');
  t.regex(reply[1] ?? '', /^15 \/ 100 \* 80 = 12\nIt is \d\d:\d\d:\d\d on \w+, \d+ \w+ \d{4} \(Asia\/Tokyo\)\.$/);
});

test('a place that has no time zone is said so', async (t) => {
  await using talk = await converse(offlineBrain);
  const { reply } = await talk.send('What time is it in Atlantis?');
  t.deepEqual(reply, ['', 'That did not work: there is no time zone named "Atlantis".']);
});

test('a fact that was told is found by a question that shares only some of its words', async (t) => {
  await using talk = await converse(offlineBrain);
  const turn = await talk.send('Please remember that my favourite tea is sencha.');
  t.is(turn.reply.at(-1), 'I will remember: your favourite tea is sencha.');
  await talk.send('Remember that I parked the car on level 3');
  await talk.send('Remember that my sister lives in Porto');
  const asked = await talk.send('What tea do I like?');
  t.deepEqual(toolNames(asked.messages), ['recall']);
  t.is(asked.reply.at(-1), 'I remember: your favourite tea is sencha.');
  t.is((await talk.send('Where did I park?')).reply.at(-1), 'I remember: you parked the car on level 3.');
  t.is((await talk.send('where does my sister live?')).reply.at(-1), 'I remember: your sister lives in Porto.');
});

test('what it does not know it says, with nothing remembered and with other things remembered', async (t) => {
  await using talk = await converse(offlineBrain);
  const honest = 'I do not know that: nothing I remember answers it.';
  t.is((await talk.send('When is my birthday?')).reply.at(-1), honest);
  await talk.send('Remember that my favourite tea is sencha');
  t.is((await talk.send('When is my birthday?')).reply.at(-1), honest);
});

test('asked what it remembers it tells all', async (t) => {
  await using talk = await converse(offlineBrain);
  await talk.send('Remember that I like sencha. Remember that I live in Porto.');
  const { reply } = await talk.send('What do you know about me?');
  t.deepEqual(reply.at(-1)?.split('\n- ').toSorted(), ['I remember:', 'you like sencha', 'you live in Porto']);
});

test('a name is kept in the state of the thread', async (t) => {
  await using talk = await converse(offlineBrain);
  const { reply, values } = await talk.send('My name is Ada.');
  t.deepEqual(reply, ['Nice to meet you, Ada.']);
  t.is(values['user_name'], 'Ada');
  t.deepEqual((await talk.send('hello')).reply, ['Hello, Ada! What can I do for you?']);
  t.deepEqual((await talk.send("What's my name?")).reply, ['You are Ada.']);
});

test("a tool of the caller's waits for the caller, and its result is told", async (t) => {
  await using talk = await converse(offlineBrain);
  const remoteTools = [{ name: 'get_location', description: 'Where the user is', parameters: { type: 'object' } }];
  const asked = await talk.send('use get_location {"precise": true}', { remoteTools });
  t.true(asked.waiting);
  const call = asked.messages.at(-1)?.content.at(-1);
  t.like(call, { type: 'remote_tool_call', name: 'get_location', args: { precise: true } });
  const answered = await talk.answer({ [String(call?.['id'])]: { city: 'Porto' } }, { remoteTools });
  t.false(answered.waiting);
  t.deepEqual(answered.reply, ['get_location answered: {"city":"Porto"}']);
});

test('what it does not understand it says, and what it can do', async (t) => {
  await using talk = await converse(offlineBrain);
  t.regex((await talk.send('lorem ipsum')).reply[0] ?? '', /^I did not understand that\. I can do arithmetic/);
  t.regex((await talk.send('What can you do?')).reply[0] ?? '', /I can do arithmetic/);
  t.regex((await talk.send('I like jazz.')).reply[0] ?? '', /^So you like jazz\. Say "remember that I like jazz"/);
});

test('a stop ends it between two words', async (t) => {
  await using talk = await converse(offlineBrain);
  const stop = new AbortController();
  const chunks: unknown[] = [];
  const onChunk = (chunk: unknown): void => {
    if (chunks.push(chunk) === 2) stop.abort();
  };
  await t.throwsAsync(talk.send('Hello!', { signal: stop.signal, onChunk }), { name: 'AbortError' });
  t.is(chunks.length, 2);
});

test('a long conversation is shortened when a turn begins: the newest stay, and the summary says what was told', async (t) => {
  await using talk = await converse(offlineBrain, { summarizeOver: 6 });
  for (const words of ['My name is Ada. I am new here.', 'hello', 'hi']) await talk.send(words);
  const { context, values, messages } = await talk.send('Hello again');
  t.is(values['context_summary'], '- user: My name is Ada.\n- user: hello\n- user: hi');
  t.deepEqual(context.map(textOf), ['Hello, Ada! What can I do for you?', 'Hello again', messages.map(textOf).join()]);
  t.is(messages.length, 1);
});

test('a conversation that is not long is left as it is', async (t) => {
  await using talk = await converse(offlineBrain, { summarizeOver: 6 });
  for (const words of ['hello', 'hi']) await talk.send(words);
  const { context, values } = await talk.send('What is 1 + 2?');
  t.is(context.length, 8);
  t.is(values['context_summary'], '');
  const next = await talk.send('hello');
  t.deepEqual(
    next.context.map(({ role }) => role),
    ['assistant', 'user', 'assistant'],
  );
});
