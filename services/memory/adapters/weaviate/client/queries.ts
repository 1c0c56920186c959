import type { FoundObject, Scope, Weaviate } from './weaviate.ts';

/** A condition on objects, as Weaviate's `where` has it. */
export type Where =
  | { readonly operator: 'And' | 'Or'; readonly operands: readonly Where[] }
  | {
      readonly operator: 'Equal' | 'LessThan' | 'LessThanEqual' | 'GreaterThanEqual' | 'ContainsAny' | 'ContainsNone';
      readonly path: readonly [string];
      readonly valueText?: string | readonly string[];
      readonly valueNumber?: number;
    };

interface Query {
  readonly scope: Scope;
  /** Properties, and `_additional { … }`. */
  readonly fields: string;
  readonly limit: number;
  readonly where?: Where | undefined;
  readonly sort?: { readonly path: string; readonly order: 'asc' | 'desc' };
  readonly nearVector?: Float32Array;
  /** Words separated by spaces, searched for in `property`. */
  readonly bm25?: { readonly words: string; readonly property: string };
}

/** Weaviate's default limit of the results of one query. */
export const maxResults = 10_000;

export type Row = Readonly<Record<string, unknown>>;

/** The objects that a query finds; none in a tenant that does not exist. */
export async function findRows(weaviate: Weaviate, query: Query): Promise<Row[]> {
  const { collection, tenant } = query.scope;
  const parts = [
    tenant === undefined ? '' : `tenant: ${literal(tenant)}`,
    `limit: ${String(query.limit)}`,
    query.where && `where: ${whereText(query.where)}`,
    query.sort && `sort: [{ path: [${literal(query.sort.path)}], order: ${query.sort.order} }]`,
    query.nearVector && `nearVector: { vector: [${query.nearVector.join()}] }`,
    query.bm25 && `bm25: { query: ${literal(query.bm25.words)}, properties: [${literal(query.bm25.property)}] }`,
  ];
  const data = await weaviate.query(
    `{ Get { ${collection}(${parts.filter(Boolean).join(' ')}) { ${query.fields} } } }`,
  );
  const get = data?.['Get'] as Readonly<Record<string, Row[] | null>> | undefined;
  return get?.[collection] ?? [];
}

/** How many objects meet the condition. */
export async function countRows(weaviate: Weaviate, { scope, where }: Pick<Query, 'scope' | 'where'>): Promise<number> {
  const { collection, tenant } = scope;
  const parts = [tenant === undefined ? '' : `tenant: ${literal(tenant)}`, where && `where: ${whereText(where)}`];
  const given = parts.filter(Boolean).join(' ');
  const data = await weaviate.query(
    `{ Aggregate { ${collection}${given === '' ? '' : `(${given})`} { meta { count } } } }`,
  );
  const groups = (data?.['Aggregate'] as Readonly<Record<string, { meta?: { count?: number } }[]>> | undefined)?.[
    collection
  ];
  return groups?.[0]?.meta?.count ?? 0;
}

/** The conjunction of the conditions; `undefined` when there is none. */
export function allOf(conditions: readonly (Where | undefined)[]): Where | undefined {
  const operands = conditions.filter((condition) => condition !== undefined);
  return operands.length > 1 ? { operator: 'And', operands } : operands[0];
}

export const equals = (path: string, valueText: string): Where => ({ operator: 'Equal', path: [path], valueText });

export const hasId = (ids: readonly string[]): Where => ({ operator: 'ContainsAny', path: ['id'], valueText: ids });
export const hasNoneOf = (ids: readonly string[]): Where => ({
  operator: 'ContainsNone',
  path: ['id'],
  valueText: ids,
});

function whereText(where: Where): string {
  if ('operands' in where) {
    return `{ operator: ${where.operator}, operands: [${where.operands.map(whereText).join(', ')}] }`;
  }
  const { operator, path, valueText, valueNumber } = where;
  const value = valueText === undefined ? `valueNumber: ${String(valueNumber)}` : `valueText: ${literal(valueText)}`;
  return `{ operator: ${operator}, path: ${literal(path)}, ${value} }`;
}

/** A string, or a list of them, in GraphQL: JSON without lone surrogates. */
const literal = (value: string | readonly string[]): string =>
  typeof value === 'string' ? JSON.stringify(value.toWellFormed()) : `[${value.map(literal).join()}]`;

/** Every object of a scope in the order of ids, page by page, vectors included: a replacement hides no object from it. */
export async function* walk(weaviate: Weaviate, scope: Scope, limit: number): AsyncGenerator<FoundObject> {
  for (let after: string | undefined; ;) {
    const objects = await weaviate.page(scope, { after, limit });
    yield* objects;
    after = objects.at(-1)?.id;
    if (objects.length < limit || after === undefined) return;
  }
}
