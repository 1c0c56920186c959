import test from 'ava';
import type { Definition, RevisionRow } from '../ports/agents.ts';
import { createDeclaredFields, FieldsToRead } from './declared-fields.ts';

const json = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value));
const definitionOf = (...names: readonly string[]): Definition => ({
  ...{ graphJson: json({}), toolsJson: json([]), nodes: [] },
  codeFields: { reduced: [], checked: [] },
  fieldsJson: json(
    Object.fromEntries([...names, 'context', 'context_summary'].map((name) => [name, { type: 'string' }])),
  ),
});

/** A registry with one revision, which counts how often it is read. */
function registry() {
  const seen = { reads: 0, now: 0, definition: definitionOf('title') as Definition | undefined };
  const row: RevisionRow = { revision: 'a', registeredAt: 0, schemaHash: 'h', wasRouted: true };
  const agent = { name: 'support', changes: 1, routing: { version: 0, retired: [] }, revisions: [row] };
  const store = {
    getAgent: (name: string) => Promise.resolve(name === 'support' ? agent : undefined),
    getDefinition: () => {
      seen.reads += 1;
      return Promise.resolve(seen.definition);
    },
  };
  return { seen, declared: createDeclaredFields(store, () => seen.now) };
}

/** A text for each of these fields. */
const texts = (...names: readonly string[]): Record<string, Uint8Array> =>
  Object.fromEntries(names.map((name) => [name, json('a')]));

const head = { agent: 'support', newestRun: 'r1', revision: 'a' };
const undeclared = { code: 'Invalid', message: 'fields.other: is not a field of the state' };

test('the fields of a revision are read once, whatever steps write of them', async (t) => {
  const { seen, declared } = registry();
  t.throws(() => declared.refuseUnfit(texts('title'), head), { instanceOf: FieldsToRead });
  await Promise.all([declared.read('support', 'a'), declared.read('support', 'a')]);
  for (seen.now = 0; seen.now < 1e9; seen.now += 1e8) declared.refuseUnfit(texts('title', 'context_summary'), head);
  t.is(seen.reads, 1);
});

test('what a revision lacks is looked for again before it is refused, at most once in two seconds', async (t) => {
  const { seen, declared } = registry();
  await declared.read('support', 'a');
  for (const now of [0, 2000]) {
    seen.now = now;
    t.throws(() => declared.refuseUnfit(texts('other'), head), undeclared);
  }
  seen.now = 2001;
  t.throws(() => declared.refuseUnfit(texts('other'), head), { instanceOf: FieldsToRead, code: 'Unavailable' });
  await declared.read('support', 'a');
  t.throws(() => declared.refuseUnfit(texts('other'), head), undeclared);
  // What was read just now decides, however long the change takes that needs it.
  const refuse = await declared.read('support', 'a');
  seen.now = 9000;
  t.throws(() => refuse(texts('other'), head), undeclared);
  t.throws(() => refuse(texts('title'), { ...head, revision: 'b' }), { instanceOf: FieldsToRead });
  refuse(texts('title'), head);
  // The revision made room for others, and is registered anew.
  seen.now = 12_000;
  seen.definition = definitionOf('other');
  await declared.read('support', 'a');
  declared.refuseUnfit(texts('other'), head);
  t.pass();
});

test('any field passes without a revision, and where the definition is gone, or does not say which fields there are', async (t) => {
  const { seen, declared } = registry();
  declared.refuseUnfit(texts(), head);
  declared.refuseUnfit(texts('other'), { newestRun: 'r1' });
  t.is(seen.reads, 0);
  const silent = [
    undefined,
    { ...definitionOf(), fieldsJson: json({}) },
    { ...definitionOf(), fieldsJson: Buffer.from('{') },
  ];
  for (const definition of silent) {
    seen.definition = definition;
    await declared.read('support', 'a');
    declared.refuseUnfit(texts('other'), head);
  }
  await declared.read('gone', 'a');
  declared.refuseUnfit(texts('other'), { ...head, agent: 'gone' });
});

test('a value of another type than its field is refused by the name of the field, once the fields are known anew', async (t) => {
  const { seen, declared } = registry();
  await declared.read('support', 'a');
  const fields = { context_summary: json('so far'), title: json(7) };
  t.throws(() => declared.refuseUnfit(fields, head), {
    code: 'Invalid',
    message: 'fields.title: must be a string, not number',
  });
  seen.now = 2001;
  t.throws(() => declared.refuseUnfit(fields, head), { instanceOf: FieldsToRead });
});
