import type { Addressed } from '@agent-workflow/protos/addressed';
import type { Client, Askable } from '../wire/client.ts';
import { fieldsOf, isObject, textIn, type Fields } from '../wire/fields.ts';

/** A question as a run has it. */
export interface Question extends Addressed {
  readonly id: string;
  readonly node: string;
  readonly value: unknown;
}

/** A question as its client gets it. */
export interface InputRequest {
  /** Names it among the questions of one call. */
  readonly key: string;
  readonly needs: Askable;
  readonly method: string;
  readonly params: Fields;
  /** What the node is given for a reply; `undefined` for one that does not fit. */
  readonly read: (reply: unknown) => { readonly answer: unknown } | undefined;
}

/** What the record has that a run asks. A stop before or after a node asks nothing. */
export const questionsIn = (json: string | undefined): readonly Question[] =>
  json === undefined ? [] : withoutBreakpoints(JSON.parse(json) as readonly Question[]);

export const withoutBreakpoints = (interrupts: readonly Question[]): readonly Question[] =>
  interrupts.filter(({ value }) => !(isObject(value) && 'breakpoint' in value && 'nodes' in value));

/** The names under which authors put the text of a question. */
const textNames = ['message', 'question', 'prompt', 'text', 'title'];

const maxKey = 256;

/**
 * The questions of a run, each under the name that its node gives it as `key`, else under its id. A name that another question of the same call has had
 * (`earlier`: the id of that by its name) stays that one's: an answer that is sent again must not answer the next.
 */
export function toInputRequests(
  questions: readonly Question[],
  earlier: ReadonlyMap<string, string> = new Map(),
): ReadonlyMap<Question, InputRequest> {
  const taken = new Set<string>();
  return new Map(
    questions.map((question) => {
      const named = textIn(fieldsOf(question.value)['key']) ?? '';
      const isFree = !taken.has(named) && (earlier.get(named) ?? question.id) === question.id;
      const key = named !== '' && named.length <= maxKey && isFree ? named : question.id;
      taken.add(key);
      return [question, { key, ...toRequest(question) }];
    }),
  );
}

function toRequest({ value }: Question): Omit<InputRequest, 'key'> {
  const { type, key: _key, tool: _tool, ...own } = fieldsOf(value);
  if (type === 'sampling') {
    const read = (reply: unknown) => (isObject(reply) && 'content' in reply ? { answer: reply } : undefined);
    return { needs: 'sampling', method: 'sampling/createMessage', params: own, read };
  }
  if (type === 'roots') {
    const read = (reply: unknown) => (Array.isArray(fieldsOf(reply)['roots']) ? { answer: reply } : undefined);
    return { needs: 'roots', method: 'roots/list', params: {}, read };
  }
  return type === 'elicitation' ? toElicitation(own) : toForm(value);
}

/** A question in the words of MCP: its answer has an action. */
function toElicitation({ message, schema, requestedSchema = schema }: Fields): Omit<InputRequest, 'key'> {
  const form = isObject(requestedSchema) ? requestedSchema : { type: 'object', properties: {} };
  return elicitation(textIn(message) ?? '', form, (reply) => ({ answer: reply }));
}

/** Any other question. A form of one field stands for a value that is no object. */
function toForm(value: unknown): Omit<InputRequest, 'key'> {
  const own = fieldsOf(value);
  const text = textIn(value) ?? textNames.map((name) => textIn(own[name])).find((each) => each !== undefined);
  const schema = fieldsOf(own['schema']);
  const isForm = schema['type'] === 'object' && isObject(schema['properties']);
  const options = own['options'] ?? own['choices'];
  const single = isObject(own['schema'])
    ? schema
    : { type: 'string', ...(isTexts(options) && options.length > 0 && { enum: options }) };
  const form = isForm ? schema : { type: 'object', properties: { answer: single }, required: ['answer'] };
  return elicitation(text ?? JSON.stringify(value), form, ({ action, content }) => ({
    answer: action === 'accept' ? (isForm ? content : fieldsOf(content)['answer']) : { status: 'cancelled' },
  }));
}

const isTexts = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every((each) => typeof each === 'string');

const actions: ReadonlySet<unknown> = new Set(['accept', 'decline', 'cancel']);

const elicitation = (
  message: string,
  requestedSchema: Fields,
  answered: (reply: Fields) => { readonly answer: unknown },
): Omit<InputRequest, 'key'> => ({
  ...{ needs: 'elicitation', method: 'elicitation/create', params: { message, requestedSchema } },
  read: (reply) => (isObject(reply) && fits(reply, requestedSchema) ? answered(reply) : undefined),
});

/** Whether a reply has an action, and with `accept` the fields that are asked for. What they hold is for the node to check. */
function fits({ action, content }: Fields, { required }: Fields): boolean {
  if (!actions.has(action)) return false;
  if (action !== 'accept') return true;
  if (content !== undefined && !isObject(content)) return false;
  return (
    !Array.isArray(required) ||
    required.every((name) => typeof name !== 'string' || Object.hasOwn(fieldsOf(content), name))
  );
}

/** Of these questions those that replies answer, as the run takes them. */
export function answersIn(
  requests: ReadonlyMap<Question, InputRequest>,
  replies: Fields,
): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    [...requests].flatMap(([{ id }, { key, read }]) => {
      const read_ = Object.hasOwn(replies, key) ? read(replies[key]) : undefined;
      return read_ ? [[id, read_.answer ?? null]] : [];
    }),
  );
}

/** The same as callers read them, by key. */
export const shownRequests = (requests: ReadonlyMap<Question, InputRequest>): Fields =>
  Object.fromEntries(
    [...requests.values()].map(({ key, method, params }) => [
      key,
      { method, ...(method !== 'roots/list' && { params }) },
    ]),
  );

/** What a client without a handshake gets that is asked. It sends its call again with `state`, and the replies. */
export const inputRequired = (requests: ReadonlyMap<Question, InputRequest>, state: string): Fields => ({
  ...{ resultType: 'input_required', inputRequests: shownRequests(requests), requestState: state },
});

/** What these questions need and the client has not declared. */
export const undeclared = (
  requests: ReadonlyMap<Question, InputRequest>,
  { can }: Pick<Client, 'can'>,
): readonly Askable[] => [
  ...new Set([...requests.values()].map(({ needs }) => needs).filter((needs) => !can.has(needs))),
];
