import { agentNamePattern } from '@agent-workflow/kit/agents';
import { idPattern, lastTime, maxIdLength } from '@agent-workflow/protos/message';
import type { Static, TProperties, TSchema } from 'typebox';
import { Type } from '../../common/builders.ts';

/** What a property says about a schema that has a title and with it a description of its own. */
export const descriptionOfUse = Symbol('description of use');

/** A schema with the description of the property or parameter that has it. The component of a titled schema keeps its own. */
export const described = <T extends TSchema>(schema: T, description: string): T => ({
  ...schema,
  ...('title' in schema ? { [descriptionOfUse]: description } : { description }),
});

/** A JSON object of any shape. */
export const JsonObject = Type.Unsafe<Record<string, unknown>>({ type: 'object', additionalProperties: true });

/** Any JSON value. */
export const Json = Type.Unknown();

/** What each word of a closed list means: a word without a meaning does not compile. */
export type Meanings<T extends readonly string[]> = Readonly<Record<T[number], string>>;

/** A description that ends with a list of words and what each means. */
export const withMeanings = (description: string, meanings: Readonly<Record<string, string>>): string =>
  [`${description}:`, '', ...Object.entries(meanings).map(([word, meaning]) => `- \`${word}\`: ${meaning}`)].join('\n');

interface WordsOptions<T extends readonly string[]> {
  readonly description: string;
  readonly meanings: Meanings<T>;
  readonly default?: T[number];
  readonly title?: string;
}

/** One of a closed list of words, each with its meaning. */
export const words = <const T extends readonly string[]>(
  options: T,
  { description, meanings, ...extras }: WordsOptions<T>,
) =>
  Type.Unsafe<T[number]>({
    type: 'string',
    enum: [...options],
    description: withMeanings(description, meanings),
    ...extras,
  });

export const nullable = <T extends TSchema>(schema: T) =>
  Type.Unsafe<Static<T> | null>({ anyOf: [schema, { type: 'null' }] });

/** An object, which may have further fields. `title` is its name in the OpenAPI document. */
export const objectOf = <P extends TProperties>(title: string, description: string, properties: P) =>
  Type.Object(properties, { title, description });

/**
 * An object that may have further fields. Every object may, but types that are generated from the document take those alone that it names, unless it
 * says so.
 */
export const openObjectOf = <P extends TProperties>(title: string, description: string, properties: P) =>
  Type.Object(properties, { title, description, additionalProperties: true });

/** What one of two or more ways to make a request has, beside its own schema. */
interface Way {
  readonly required?: readonly string[];
  readonly properties?: Readonly<Record<string, object>>;
}

/**
 * An object that is made in one of these ways; a fault names what lacks in the first. The ways stand in `allOf`, because generators of clients take an `anyOf`
 * beside properties for the whole type.
 */
export const oneOfNeeded = <T extends TSchema>(schema: T, ways: readonly Way[]): T => ({
  ...schema,
  allOf: [{ anyOf: ways }],
});

/** A text of a reply. */
export const text = (description: string) => Type.String({ description });

/** A count of a reply. */
/** How long a thread may be kept after its last change, in seconds: ten years. */
const mostTtl = 315_360_000;

export const ttl = (description: string) =>
  Type.Integer({ minimum: 60, maximum: mostTtl, description: `${description}. In seconds, a minute to ten years` });

export const count = (description: string) => Type.Integer({ minimum: 0, description });

/** A yes or no of a reply. */
export const flag = (description: string) => Type.Boolean({ description });

/** Ids that follow these rules can be part of a path. */
const idRules = { maxLength: maxIdLength, format: 'well-formed' };

/** Larger JSON numbers are rounded: two different ids could become the same. */
const idNumbers = { minimum: Number.MIN_SAFE_INTEGER, maximum: Number.MAX_SAFE_INTEGER };

const idText = `1 to ${String(maxIdLength)} characters without slash and control characters, and neither \`.\` nor \`..\``;

/** An id in a path. */
export const Id = Type.String({
  title: 'Id',
  description: `An opaque identifier: ${idText}. In a path it is percent-encoded.`,
  minLength: 1,
  pattern: idPattern,
  ...idRules,
});

/** The name of an agent, where any other text would find nothing. */
export const AgentName = Type.String({ pattern: agentNamePattern });

/** An id in a body, where a number counts as its decimal text. */
export const BodyId = Type.Unsafe<string | number>({
  title: 'BodyId',
  description: `An opaque identifier: ${idText}. A number counts as its decimal text.`,
  type: ['string', 'number'],
  minLength: 1,
  pattern: idPattern,
  ...idRules,
  ...idNumbers,
});

/** An id in a condition, where `null` does not count as one. */
export const idGiven = (description: string) => ({ type: ['string', 'number'], description });

/** A message id in a body: null, `""` and 0 mean a new one. */
export const NewId = Type.Unsafe<string | number | null>({
  title: 'NewId',
  description: `An opaque identifier: ${idText}. A number counts as its decimal text. Absent, \`null\`, \`""\` or \`0\`: the service makes one.`,
  type: ['string', 'number', 'null'],
  pattern: `^$|${idPattern}`,
  ...idRules,
  ...idNumbers,
});

export const threadId = text('The id of the thread');
export const runId = text('The id of the run');
export const memoryId = text('The id of the memory');
export const pathThreadId = described(Id, 'The thread');

/** The largest page size; a larger `limit` is lowered to it. */
export const maxLimit = 1000;

export const limitOf = (fallback: number) =>
  Type.Integer({
    minimum: 1,
    default: fallback,
    description: `The most items of the reply; above ${String(maxLimit)} it counts as ${String(maxLimit)}. A page also ends at 4 MiB.`,
  });
const Offset = Type.Integer({
  minimum: 0,
  maximum: Number.MAX_SAFE_INTEGER,
  default: 0,
  description: 'How many items are left out at the start of the list. Items that others add or remove move the rest.',
});
export const Cursor = Type.String({ minLength: 1, maxLength: 2048 });

/** Whether there is a next page, and its cursor. A page ends at its limit or at its largest byte size. */
export const paged = {
  has_more: flag('Whether there is more: continue with `cursor`, or at `offset` plus the number of items of this page'),
  cursor: Type.Optional(described(Cursor, 'Where the next page begins; absent on the last page')),
};

const cursorText =
  'The `cursor` of the page before, taken in place of `offset`. It continues after the last item of that page, also when others add or remove items. It belongs to one list with the same filters: elsewhere it is 422.';

/** The query of a page of a list whose items keep their place. */
export const paging = {
  offset: Offset,
  limit: limitOf(100),
  cursor: Type.Optional(described(Cursor, cursorText)),
};

/** The query of a page of a list that is ordered by the last change of its items. */
export const pagingByChange = {
  ...paging,
  cursor: Type.Optional(
    described(
      Cursor,
      `${cursorText} What changes meanwhile moves to the front, and the later pages miss it: read the first page again at the end, and the pages after it as far as they have something new.`,
    ),
  ),
};

/** A time in ISO 8601, in UTC. */
export const time = (description: string) =>
  Type.String({ format: 'date-time', description: `${description}. ISO 8601, UTC` });

/** A time of a request. A number counts the seconds since 1970 below 100,000,000,000, and the milliseconds from there on. */
export const givenTime = (description: string, fallback: string) =>
  Type.Unsafe<string | number>({
    type: ['string', 'number'],
    format: 'date-time',
    minimum: 0,
    maximum: lastTime,
    description: `${description}, from 1970 to 9999: ISO 8601, or a number, which counts seconds since 1970 below 100,000,000,000 and milliseconds from there on. Default: ${fallback}`,
  });

export const ResponseMetadata = objectOf('ResponseMetadata', 'What every reply says about itself.', {
  message: text('`OK`, why the request was refused, or why nothing was done'),
  request_id: text('The id of the request, as in the header `X-Request-Id` and in the logs of the service'),
  timestamp: time('When the reply was made'),
  incomplete_since: Type.Optional(
    time(
      'Of a memory search, while the store repairs its index after a restart: memories written since this time may be missing',
    ),
  ),
});

export const Done = objectOf('Done', 'The change was made.', { success: flag('Always `true`') });
