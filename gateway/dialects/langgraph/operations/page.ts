import type { TSchema } from 'typebox';
import { rows } from '../rows/table.ts';
import { fixed } from './fixed.ts';
import { reference } from './reference.ts';
import { refused } from './refused.ts';

const prefix = '/langgraph';

/** An operation whatever its parameters in the path are called. */
const keyOf = (operation: string): string => operation.replaceAll(/\{[^{}]*\}/g, '{}');

const introduction = `# Operations of LangGraph Server

\`npm run docs\` writes this page from the operations that the service has; a test sends what it says is refused. For what changes when you come from there, see
[Coming from LangGraph Platform](langgraph.md).

Paths stand below \`/langgraph\`. A refusal is \`{"detail": text}\`, and the text names the parameter. Operations of MCP, A2A and metrics are not listed: metrics are
on a port of their own. A parameter that no operation of LangGraph Server has is ignored, as it is there.

\`\`\`sh
curl -s "$URL/langgraph/info"
\`\`\`
\`\`\`
{"version": "0.16.7", "flags": {"assistants": true, "crons": true, …}, …}
\`\`\`
`;

/** The page of the guide that lists every operation of LangGraph Server with what is served of it. @throws for a parameter that is neither served nor refused by name */
export function operationsPage(): string {
  const tables = Object.entries(reference).map(([title, operations]) =>
    [
      `## ${title}\n`,
      '| Operation | Works with | Refused |',
      '|---|---|---|',
      ...operations.map(([operation, parameters]) => lineOf(operation, parameters.split(' ').filter(Boolean))),
      '',
    ].join('\n'),
  );
  return [introduction, ...tables, fixedTable].join('\n');
}

const fixedTable = [
  '## Parameters that change nothing\n',
  'Every operation of LangGraph Server that has one of these reads it, and what it asks for is always so, or never.\n',
  '| Parameter | Here |',
  '|---|---|',
  ...Object.entries(fixed).map(([name, why]) => `| \`${name}\` | ${why} |`),
  '',
].join('\n');

function lineOf(operation: string, parameters: readonly string[]): string {
  const served = parametersServed(operation);
  const refusals = refused.filter(({ operations }) => operations.includes(operation));
  const isRefused = refusals.some(({ parameter, values }) => parameter === undefined && values === undefined);
  if (!served && !isRefused) throw new Error(`${operation} is neither served nor refused`);
  const working = served && !isRefused ? parameters.filter((name) => !isRefusedWhole(operation, name)) : [];
  const unknown = working.find((name) => !served?.has(name));
  if (unknown !== undefined) throw new Error(`${operation}: ${unknown} is neither read nor refused`);
  const effective = working.filter((name) => !Object.hasOwn(fixed, name));
  const works = effective.map((name) => `\`${name}\``).join(', ') || (isRefused ? 'nothing' : 'as it is');
  return `| \`${operation}\` | ${works} | ${refusals.map(shownRefusal).join('; ')} |`;
}

/** A parameter of which nothing works. */
const isRefusedWhole = (operation: string, name: string): boolean =>
  refused.some(
    ({ operations, parameter, values }) => parameter === name && values === undefined && operations.includes(operation),
  );

const shownRefusal = ({ parameter, values, status, why }: (typeof refused)[number]): string => {
  const what = [parameter === undefined ? '' : `\`${parameter}\``, values ?? ''].filter(Boolean).join(' ');
  return `${what === '' ? '' : `${what}: `}${String(status)}. ${why}`;
};

/** Names that an operation reads of its query and its body; `undefined` where it is not served. */
function parametersServed(operation: string): ReadonlySet<string> | undefined {
  const row = rows.find(({ method, path }) => keyOf(`${method} ${path.slice(prefix.length)}`) === keyOf(operation));
  if (!row) return undefined;
  const { input, listBody, takesLastEventId } = row;
  const properties = propertiesOf(input);
  const named = listBody === undefined ? properties : propertiesOf(properties[listBody]?.items);
  return new Set([...Object.keys(named), ...(takesLastEventId ? ['Last-Event-ID'] : [])]);
}

interface Schema {
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly items?: Schema;
}

const propertiesOf = (schema: TSchema | Schema | undefined): Readonly<Record<string, Schema>> =>
  (schema as Schema | undefined)?.properties ?? {};
