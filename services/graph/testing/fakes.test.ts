import { createHash } from 'node:crypto';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import test, { type ExecutionContext } from 'ava';
import type { AnswerPart, Model, ModelQuestion } from '../model/model.ts';
import { fakeFiles, fakeMemory, fakeModel, lastText, recordedModel, toolResult, user } from '../testing.ts';

const { signal } = new AbortController();

const question = (text: string, more: Partial<ModelQuestion> = {}): ModelQuestion => ({
  instructions: 'Be short.',
  messages: [user(text)],
  tools: [],
  ...more,
});

async function answerOf(model: Model, asked: ModelQuestion): Promise<readonly AnswerPart[]> {
  const parts: AnswerPart[] = [];
  for await (const part of model.answer(asked, signal)) parts.push(part);
  return parts;
}

const textOfParts = (parts: readonly AnswerPart[]): string =>
  parts.map((part) => (part.type === 'text' ? part.text : '')).join('');

function fileFor(t: ExecutionContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'recorded-'));
  t.teardown(() => rmSync(folder, { recursive: true }));
  return join(folder, 'answers', 'model.json');
}

const never: Model = fakeModel(() => new Error('the real model was asked'));

test('a recorded model asks the real one once for each question, and replays its answers without it', async (t) => {
  const file = fileFor(t);
  const usage = { type: 'usage', model: 'm', inputTokens: 1, outputTokens: 2 } as const;
  const call = { type: 'tool_call', id: 'c', name: 'add', args: { a: 1 } } as const;
  const real = fakeModel([[{ type: 'text', text: 'Four ' }, { type: 'text', text: 'words' }, call, usage], 'Two.']);
  const recording = recordedModel(real, file, { mode: 'record' });
  const first = await answerOf(recording, question('one'));
  t.is(first.length, 4);
  await answerOf(recording, question('two'));
  t.deepEqual(await answerOf(recording, question('one')), first);
  t.is(real.questions.length, 2);
  const replayed = recordedModel(never, file);
  t.deepEqual(await answerOf(replayed, question('one')), first);
  t.is(textOfParts(await answerOf(replayed, question('two'))), 'Two.');
});

test('a question that is not on record fails in a sentence that names the file and how to record', async (t) => {
  const file = fileFor(t);
  await t.throwsAsync(answerOf(recordedModel(never, file), question('one')), {
    message: `no answer to "one" is on record in ${file}: run the test once with recordedModel(model, file, { mode: 'record' })`,
  });
});

test('instructions, messages, tools and schema make a question another one; ids of calls do not', async (t) => {
  const file = fileFor(t);
  const withCall = (id: string): ModelQuestion => {
    const content = [{ type: 'tool_call', id, name: 'add', args: {} }];
    const result = { type: 'tool_result', call_id: id, output: 1 };
    const messages = [
      { ...user('one'), role: 'assistant' as const, content },
      { ...user(''), role: 'tool' as const, content: [result] },
    ];
    return question('one', { messages });
  };
  await answerOf(recordedModel(fakeModel(['Yes.']), file, { mode: 'record' }), withCall('a'));
  const replayed = recordedModel(never, file);
  t.is(textOfParts(await answerOf(replayed, withCall('b'))), 'Yes.');
  const tool = { name: 'add', description: '', parameters: {} };
  for (const other of [{ instructions: '' }, { messages: [user('two')] }, { tools: [tool] }, { schema: {} }])
    await t.throwsAsync(answerOf(replayed, { ...withCall('a'), ...other }), { message: /is on record/ });
});

test('an error of the real model is not recorded', async (t) => {
  const file = fileFor(t);
  const recording = recordedModel(fakeModel([new Error('busy'), 'Yes.']), file, { mode: 'record' });
  await t.throwsAsync(answerOf(recording, question('one')), { message: 'busy' });
  t.is(textOfParts(await answerOf(recording, question('one'))), 'Yes.');
});

test('the file holds the answers and the beginning of each question, and nothing else of it', async (t) => {
  const file = fileFor(t);
  const asked = question('Hi! '.repeat(100), { instructions: 'the secret' });
  await answerOf(recordedModel(fakeModel(['Yes.']), file, { mode: 'record' }), asked);
  const text = readFileSync(file, 'utf8');
  t.false(text.includes('the secret'));
  const { answers } = JSON.parse(text) as { readonly answers: readonly Readonly<Record<string, unknown>>[] };
  t.deepEqual(
    answers.map(({ question: excerpt, parts }) => [excerpt, parts]),
    [[`${'Hi! '.repeat(25)} …`, [{ type: 'text', text: 'Yes.' }]]],
  );
});

test('a file that is no recording is refused by name', async (t) => {
  const file = join(mkdtempSync(join(tmpdir(), 'recorded-')), 'model.json');
  t.teardown(() => rmSync(join(file, '..'), { recursive: true }));
  for (const text of ['{', '[]', '{"answers":[{"key":1}]}']) {
    writeFileSync(file, text);
    const refused = await t.throwsAsync(answerOf(recordedModel(never, file), question('one')));
    t.true(refused.message.startsWith(file));
  }
});

test('a recording of a thousand answers takes no more', async (t) => {
  const file = join(mkdtempSync(join(tmpdir(), 'recorded-')), 'model.json');
  t.teardown(() => rmSync(join(file, '..'), { recursive: true }));
  const answers = Array.from({ length: 1000 }, (_, key) => ({ key: String(key), question: '', parts: [] }));
  writeFileSync(file, JSON.stringify({ answers }));
  await t.throwsAsync(answerOf(recordedModel(fakeModel(['Yes.']), file, { mode: 'record' }), question('one')), {
    message: `${file} holds 1000 answers, and takes no more`,
  });
});

test('a fake memory finds what holds the words of the query, the best first, within the bounds of the search', async (t) => {
  const memory = fakeMemory();
  await memory.store({ content: 'My favourite colour is green', category: 'facts' });
  const id = await memory.store({ content: 'The colour of tea', category: 'drinks', metadata: { hot: true } });
  const contents = async (...args: Parameters<typeof memory.search>): Promise<readonly string[]> =>
    (await memory.search(...args)).map(({ content }) => content);
  t.deepEqual(await contents('Which colour has TEA?'), ['The colour of tea', 'My favourite colour is green']);
  t.deepEqual(await contents('colour', { limit: 1 }), ['My favourite colour is green']);
  t.deepEqual(await contents('colour', { category: 'drinks' }), ['The colour of tea']);
  t.deepEqual(await contents('colour', { memoryType: 'episodic' }), []);
  t.deepEqual(await contents('colour tea', { scoreThreshold: 0.6 }), ['The colour of tea']);
  t.deepEqual([await contents('milk'), await contents('')], [[], []]);
  t.deepEqual((await memory.search('tea'))[0]?.metadata, { hot: true });
  await t.throwsAsync(memory.delete({ id } as never), { message: 'id of a memory to delete must be a text' });
  await memory.delete(id);
  t.deepEqual(
    memory.stored.map(({ content }) => content),
    ['My favourite colour is green'],
  );
});

test('a fake memory refuses a query that is no text', async (t) => {
  const other = fakeMemory();
  const id = await other.store({ content: 'coffee', key: 'taste' });
  const green = { content: 'green tea', key: 'taste', metadata: { n: 1 }, timestamp: '2024-03-05' };
  t.is(await other.store(green), id);
  await other.store({ content: 'old tea', expiresAt: 1 });
  await other.store({ content: 'black tea', category: 'drinks', metadata: { n: 2 } });
  const found = async (filters: object): Promise<string[]> =>
    (await other.search('tea', { filters: filters as Record<string, unknown> })).map(({ content }) => content);
  t.deepEqual(await found({ n: { $gte: 2 } }), ['black tea']);
  t.deepEqual(await found({ n: { $in: [1, 7] }, timestamp: { $lt: '2025' } }), ['green tea']);
  await t.throwsAsync(found({ n: { $near: 1 } }), { message: /not \$near/ });
  t.like(await other.update(id, { content: 'white tea', metadata: { m: 1 } }), { metadata: { n: 1, m: 1 } });
  await t.throwsAsync(other.update('no', { content: 'x' }), { message: 'memory "no" does not exist' });
  const page = await other.list({ limit: 1 });
  t.like(page, { total: 2, memories: [{ content: 'white tea' }] });
  t.deepEqual(
    (await other.list({ limit: 1, cursor: page.cursor })).memories.map(({ content }) => content),
    ['black tea'],
  );
  await t.throwsAsync(other.search('tea', { Limit: 1 } as never), {
    message: /Limit, which is none of .*is limit meant/,
  });
  await t.throwsAsync(fakeMemory().search(5 as never), { message: 'query of a search of memories must be a text' });
});

test('a fake memory has scopes, and stores many with an outcome for each', async (t) => {
  const memory = fakeMemory();
  const scope = 'shared:handbook';
  const page = { content: 'tea at four', scope, dedupe: true };
  const outcomes = await memory.storeAll([page, page, { content: 'my tea' }, { content: '' }]);
  t.deepEqual(
    outcomes.map((outcome) => ('id' in outcome ? outcome.id : outcome.error.name)),
    ['memory-1', 'memory-1', 'memory-2', 'TypeError'],
  );
  const found = async (scopes?: readonly string[]): Promise<(string | undefined)[]> =>
    (await memory.search('tea', { scopes })).map((each) => each.scope);
  t.deepEqual(await found(), [undefined]);
  t.deepEqual((await found(['own', scope])).sort(), [scope, undefined]);
  await t.throwsAsync(memory.update('memory-1', { content: 'x' }), { message: 'memory "memory-1" does not exist' });
  t.like(await memory.update('memory-1', { content: 'x' }, { scope }), { content: 'x', scope });
  await memory.delete('memory-1');
  t.is((await memory.list({ scope })).total, 1);
  t.is(await memory.forget({ scope, category: 'general' }), 1);
  await t.throwsAsync(memory.forget({ scope }), { message: 'memory.forget needs a condition, or all' });
  t.is(await memory.forget({ all: true }), 1);
});

test('a fake memory refuses metadata that is no JSON', async (t) => {
  await t.throwsAsync(fakeMemory().store({ content: 'x', metadata: { at: new Date(0) } }), {
    message: 'metadata was given what is not JSON: value.at is an object of class Date',
  });
});

test('what neither fake can mean is refused at once', async (t) => {
  const mode = 'recrod' as 'record';
  t.throws(() => recordedModel(fakeModel([]), 'nowhere.json', { mode }), {
    message: 'mode is replay or record, not recrod',
  });
  await t.throwsAsync(fakeMemory().store({} as never), { message: /content of a memory/ });
});

test('fake files are read as they were given, and keep what is written', async (t) => {
  const files = fakeFiles({ filename: 'a.txt', contentType: 'text/plain', data: 'grün' });
  const given = await files.read('file-1');
  t.deepEqual(given.info, {
    ...{ fileId: 'file-1', filename: 'a.txt', contentType: 'text/plain', size: 5 },
    sha256: createHash('sha256').update('grün').digest('hex'),
  });
  t.is(Buffer.from(await given.bytes()).toString(), 'grün');
  const stream = async function* (): AsyncGenerator<Uint8Array> {
    for await (const chunk of given.stream()) yield* [chunk, Buffer.from('!')];
  };
  const info = await files.write({ filename: 'b', data: stream() });
  t.like(info, { fileId: 'file-2', filename: 'b', contentType: 'application/octet-stream', size: 6 });
  t.is(Buffer.from(files.stored[1]?.bytes ?? []).toString(), 'grün!');
});

test('fake files refuse what the real ones refuse', async (t) => {
  const files = fakeFiles({ filename: 'a', data: 'abc' });
  await t.throwsAsync(files.read('file-2'), { message: 'file "file-2" does not exist' });
  await t.throwsAsync((await files.read('file-1')).bytes({ maxBytes: 2 }), {
    instanceOf: RangeError,
    message: 'file "file-1" has 3 bytes, more than 2',
  });
  await t.throwsAsync(files.write({ filename: '', data: 'a' }), { instanceOf: TypeError });
  await t.throwsAsync(files.write({ filename: 'b', data: 5 as never }), {
    message: 'data of a file must be a text, bytes, or an async iterable of bytes',
  });
  const texts = ReadableStream.from(['a']) as unknown as AsyncIterable<Uint8Array>;
  await t.throwsAsync(files.write({ filename: 'b', data: texts }), {
    message: 'a stream of a file must give bytes, not string: encode texts with TextEncoder',
  });
});

test('fake files of what is no file are refused by what it is', (t) => {
  const file = { filename: 'a', data: 'abc' };
  const make = fakeFiles as (...given: readonly unknown[]) => unknown;
  for (const [given, fault] of [
    [[null], '[0] of what fakeFiles is given must be an object, not null'],
    [[file, [file]], '[1] of what fakeFiles is given must be an object, not array'],
    [[{ data: 'abc' }], 'filename must be a text that is not empty'],
    [[{ filename: 'a' }], 'data of a file of fakeFiles must be a text or bytes, not undefined'],
  ] as const)
    t.throws(() => make(...given), { message: fault });
});

test('a fake model refuses a script that is none, and an answer that is none', async (t) => {
  const answers = 'a text, an Error, { call, args } or a list of parts';
  for (const [script, fault] of [
    [undefined, 'what fakeModel is given must be a list of answers or a function, not undefined'],
    ['Yes.', 'what fakeModel is given must be a list of answers or a function, not string'],
    [{ call: 'add' }, 'what fakeModel is given must be a list of answers or a function, not object'],
    [['Yes.', { text: 'No.' }], `an answer of fakeModel must be ${answers}: [1] is object`],
    [[[null]], `an answer of fakeModel must be ${answers}: [0] is array`],
  ] as const)
    t.throws(() => fakeModel(script as never), { message: fault });
  const late = fakeModel((() => Promise.resolve('Yes.')) as never);
  await t.throwsAsync(answerOf(late, question('a')), {
    message: `the function of fakeModel must give ${answers}, not promise`,
  });
});

test('what is read of a walk that was not awaited, or of a call that was not made, is refused', (t) => {
  t.throws(() => lastText(Promise.resolve() as never), {
    message: 'what lastText is given must be an object, not promise',
  });
  t.throws(() => toolResult(undefined as never, 1), {
    message: 'the call that toolResult answers must be an object, not undefined',
  });
});
