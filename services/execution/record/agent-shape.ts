import { nodeNames, type CompiledGraph } from '@agent-workflow/graph/build/graph';
import type { FieldSpec } from '@agent-workflow/graph/state/field';
import { allFields } from '@agent-workflow/graph/state/merge';
import { partsOf } from '@agent-workflow/graph/state/value-parts';
import type { Graph } from '@agent-workflow/protos/execution';
import type { NodeNames, RevisionDefinition } from '@agent-workflow/protos/threads';
import { shownFields } from '@agent-workflow/protos/hidden-fields';
import { isUsualSchema } from '@agent-workflow/graph/state/usual-schema';
import type { Agent } from './agents.ts';
import { fromJson } from './json.ts';

type Fields = Readonly<Record<string, FieldSpec<unknown>>>;

/** What requests are checked by, and what callers are shown, of an agent: with its code, or as it is registered. */
export interface AgentShape extends Pick<Agent, 'name' | 'description'> {
  /** Its own fields. Of a registered agent they have neither reducers nor checks of code. */
  readonly fields: Fields;
  /** The fields whose reducer is not here, and those whose check is not, or whose schema may take long. */
  readonly elsewhere: { readonly reduced: ReadonlySet<string>; readonly checked: ReadonlySet<string> };
  /** Of a registered agent: how long the schema of a field takes for each part of a value, see {@link faultsPerPart}. */
  readonly schemaTimes?: ReadonlyMap<string, number>;
  readonly toolNames: ReadonlySet<string>;
  /** Absent: those of the revision that serves the run are not known here. */
  readonly nodes?: NodeNames;
  /** The nodes of the graph itself, without those of its sub-graphs. */
  readonly ownNodes: ReadonlySet<string>;
  readonly graph: Graph;
  readonly toolsJson: Uint8Array;
  /** Of a registered agent: the revision that serves the run in question; empty: none. */
  readonly checkedRevision?: string;
}

/** A registered agent without what is known of one revision. */
type Named = Pick<AgentShape, 'name' | 'description'>;

/** The shape of an agent whose code is here. */
export const shapeOf = ({ graph, ...agent }: Agent): AgentShape => ({
  ...namedBy(agent),
  fields: graph.fields,
  elsewhere: { reduced: nothing, checked: nothing },
  toolNames: new Set(graph.tools.map((tool) => tool.name)),
  nodes: nodeNames(graph),
  ownNodes: ownNodesOf(graph.drawing),
  graph: shownGraph(describeGraph(graph)),
  toolsJson: describeTools(graph),
});

/**
 * The shape of a revision as it is registered. Its schemas come from another team:
 * those that may take long to check a value by are left to the workers of that team.
 */
export function shapeOfRegistered(named: Named, definition: RevisionDefinition): AgentShape {
  const { graphJson, fieldsJson, toolsJson, nodes, codeFields } = definition;
  const { context: _, context_summary: _summary, ...declared } = fromJson(fieldsJson) as Fields;
  const { reduced, checked } = codeFields;
  const { fields, slow } = withQuickSchemas(declared);
  return {
    ...namedBy(named),
    fields,
    elsewhere: { reduced: new Set(reduced), checked: new Set([...checked, ...slow]) },
    schemaTimes: new Map(
      Object.entries(fields).flatMap(([name, { schema }]) => (schema ? [[name, faultsPerPart(schema)] as const] : [])),
    ),
    toolNames: new Set((fromJson(toolsJson) as readonly { readonly name: string }[]).map((tool) => tool.name)),
    nodes: { names: nodes, first: [] },
    ownNodes: ownNodesOf(fromJson(graphJson) as Drawing),
    graph: shownGraph({ graphJson, fieldsJson }),
    toolsJson,
  };
}

/** How long the schemas of another team may take for the values of one request: about a tenth of a second. */
const maxFaults = 512 * 1024;

/**
 * The shape that these values are checked by. Schemas of another team that take long for them are left to the workers of that team: the time is
 * that of the alternatives for each part of a value, and a state has up to a million parts.
 */
export function shapeForValues(shape: AgentShape, values: Readonly<Record<string, unknown>>): AgentShape {
  let left = maxFaults;
  const slow = Object.entries(values).flatMap(([name, value]) => {
    const [spec, perPart] = [shape.fields[name], shape.schemaTimes?.get(name)];
    if (!spec || perPart === undefined) return [];
    const time = perPart * partsOf(value);
    if (time > left) return [[name, withoutSchema(spec)] as const];
    left -= time;
    return [];
  });
  if (slow.length === 0) return shape;
  const { reduced, checked } = shape.elsewhere;
  const fields = { ...shape.fields, ...Object.fromEntries(slow) };
  return { ...shape, fields, elsewhere: { reduced, checked: new Set([...checked, ...slow.map(([name]) => name)]) } };
}

const withoutSchema = ({ schema: _, ...bare }: FieldSpec<unknown>): FieldSpec<unknown> => bare;

/** The fields without the schemas that may take long: `slow` are the names of those fields, whose values a worker of the agent checks. */
function withQuickSchemas(declared: Fields): { readonly fields: Fields; readonly slow: readonly string[] } {
  const isSlow = ({ schema }: FieldSpec<unknown>): boolean => schema !== undefined && !isQuickSchema(schema);
  const entries = Object.entries(declared).map(
    ([name, spec]) => [name, isSlow(spec) ? withoutSchema(spec) : spec] as const,
  );
  return {
    fields: Object.fromEntries(entries),
    slow: Object.keys(declared).filter((name) => declared[name] && isSlow(declared[name])),
  };
}

/** A graph as callers see it. */
const shownGraph = ({ graphJson, fieldsJson }: Graph): Graph => ({
  graphJson,
  fieldsJson: toJson(shownFields(fromJson(fieldsJson) as Fields)),
});

/** How a graph is drawn and its fields are described, to the registry. */
export const describeGraph = ({ drawing, fields }: CompiledGraph): Graph => ({
  graphJson: toJson(drawing),
  fieldsJson: toJson(describeFields(fields)),
});

export const describeTools = ({ tools }: CompiledGraph): Uint8Array =>
  toJson(tools.map(({ name, description, parameters, run }) => ({ name, description, parameters, remote: !run })));

const describeFields = (fields: Fields): Record<string, unknown> =>
  Object.fromEntries(
    Object.entries(allFields(fields)).map(
      ([name, { type, description, schema, default: fallback, required, callers }]) => [
        name,
        { type, description, schema, default: fallback, required, callers },
      ],
    ),
  );

const toJson = (value: unknown): Uint8Array => Buffer.from(JSON.stringify(value));

const nothing: ReadonlySet<string> = new Set();

const namedBy = ({ name, description }: Named): Named => ({
  name,
  ...(description === undefined ? {} : { description }),
});

interface Drawing {
  readonly nodes: readonly { readonly id: string; readonly type: string }[];
}

const ownNodesOf = ({ nodes }: Drawing): ReadonlySet<string> =>
  new Set(nodes.flatMap(({ id, type }) => (type === 'start' || type === 'end' ? [] : [id])));

/** Bounds of a schema that is evaluated here. How long it takes for a value is another question: {@link faultsPerPart}. */
const [maxBytes, maxDepth] = [4 * 1024, 64];

/** Formats whose expressions of ajv-formats take time in proportion to the text. */
const linearFormats: ReadonlySet<unknown> = new Set(['date', 'date-time', 'time', 'email', 'ipv4', 'url', 'uuid']);

/**
 * Whether a process without the code of an agent evaluates this schema of it. The schema comes from another team, so nothing in it may take
 * long: no regular expression, no reference (a chain of them doubles the work at each link), no comparison of all items with each other,
 * and no keyword that is not known here.
 */
const isQuickSchema = (schema: unknown): boolean =>
  hasLevels(schema, maxDepth) &&
  Buffer.byteLength(JSON.stringify(schema)) <= maxBytes &&
  isUsualSchema(schema) &&
  isQuickPart(schema);

/** Of a usual schema. */
function isQuickPart(schema: unknown): boolean {
  if (typeof schema === 'boolean') return true;
  const parts = schema as Readonly<Record<string, unknown>>;
  if (parts['uniqueItems'] === true) return false;
  if (parts['format'] !== undefined && !linearFormats.has(parts['format'])) return false;
  const listed = ['anyOf', 'oneOf', 'allOf'].flatMap((name) => (parts[name] ?? []) as readonly unknown[]);
  const single = ['items', 'additionalProperties', 'not'].flatMap((name) => (name in parts ? [parts[name]] : []));
  return [...listed, ...single, ...Object.values((parts['properties'] ?? {}) as typeof parts)].every(isQuickPart);
}

/**
 * How long a quick schema takes for one part of a value, at most, as a number of faults that are found: an alternative that does not match
 * is one, which takes as long as many checks without a fault. As nothing refers to another part of the schema, each part of it is applied to
 * a part of a value once.
 */
function faultsPerPart(schema: unknown): number {
  if (typeof schema === 'boolean') return checkTime;
  const parts = schema as Readonly<Record<string, unknown>>;
  const properties = (parts['properties'] ?? {}) as typeof parts;
  const compared = [parts['required'], parts['enum'], parts['const'], Object.keys(properties)];
  const own = compared.reduce<number>((sum, values) => sum + partsOf(values), 1) * checkTime;
  const inner = ['items', 'additionalProperties'].flatMap((name) => (name in parts ? [parts[name]] : []));
  const within = [...inner, ...Object.values(properties)].map(faultsPerPart);
  const alternatives = alternativesIn(parts).map((each) => 1 + faultsPerPart(each));
  const further = [...((parts['allOf'] ?? []) as readonly unknown[]), ...('not' in parts ? [parts['not']] : [])];
  const beside = [...alternatives, ...further.map(faultsPerPart)].reduce((sum, each) => sum + each, 0);
  return Math.max(own, ...within) + beside;
}

const alternativesIn = (parts: Readonly<Record<string, unknown>>): readonly unknown[] =>
  ['anyOf', 'oneOf'].flatMap((name) => (parts[name] ?? []) as readonly unknown[]);

/** The time of a check without a fault, as a share of that of one with a fault. */
const checkTime = 1 / 16;

/** Whether a value has at most so many levels of objects and arrays. */
const hasLevels = (value: unknown, levels: number): boolean =>
  typeof value !== 'object' ||
  value === null ||
  (levels > 0 && Object.values(value).every((part) => hasLevels(part, levels - 1)));
