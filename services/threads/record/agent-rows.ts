import type { AgentRow, Definition, Routing } from '../ports/agents.ts';

// How every store keeps a registered agent: the routing apart from the rest, because it is read alone.

/** An agent as columns. */
interface AgentColumns {
  readonly name: string;
  readonly changes: number;
  /** JSON. */
  readonly routing: string;
  /** JSON: what the other columns do not have. */
  readonly rest: string;
}

export const fromAgent = ({ name, changes, routing, ...rest }: AgentRow): AgentColumns => ({
  name,
  changes,
  routing: JSON.stringify(routing),
  rest: JSON.stringify(rest),
});

/** Columns as a store gives them: Cassandra has large numbers of its own. */
type Row = Readonly<Record<string, unknown>>;

export const toAgent = (row: Row): AgentRow => ({
  ...(JSON.parse(row['rest'] as string) as Omit<AgentRow, 'name' | 'changes' | 'routing'>),
  name: row['name'] as string,
  changes: Number(row['changes']),
  routing: toRouting(row),
});

const toRouting = (row: Row): Routing => JSON.parse(row['routing'] as string) as Routing;

export const toRoutings = (rows: readonly Row[]): ReadonlyMap<string, Routing> =>
  new Map(rows.map((row) => [row['name'] as string, toRouting(row)]));

const bytesOf = (value: unknown): Uint8Array => {
  const { buffer, byteOffset, byteLength } = value as Uint8Array;
  return new Uint8Array(buffer, byteOffset, byteLength);
};

/** A definition as columns, in the order of the tables. */
type DefinitionColumns = readonly [graph: Uint8Array, fields: Uint8Array, tools: Uint8Array, nodes: string];

/** The last column is JSON: the names of the nodes, and of the fields that need code. */
export const fromDefinition = ({
  graphJson,
  fieldsJson,
  toolsJson,
  nodes,
  codeFields,
}: Definition): DefinitionColumns => [
  ...([graphJson, fieldsJson, toolsJson] as const),
  JSON.stringify({ names: nodes, codeFields } satisfies Names),
];

/** The last column of a definition. */
type Names = Pick<Definition, 'codeFields'> & { readonly names: readonly string[] };

export function toDefinition(row: Row): Definition {
  const known = JSON.parse(row['nodes'] as string) as Names;
  return {
    graphJson: bytesOf(row['graph']),
    fieldsJson: bytesOf(row['fields']),
    toolsJson: bytesOf(row['tools']),
    nodes: known.names,
    codeFields: known.codeFields,
  };
}
