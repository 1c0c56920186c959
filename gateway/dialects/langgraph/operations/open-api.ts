import type { TSchema } from 'typebox';
import { accessOf, type Row } from '../../../http/endpoint.ts';
import { propertiesOf, takesQuery } from '../../../http/query.ts';
import { refused } from './refused.ts';

type Json = Readonly<Record<string, unknown>>;

const prefix = '/langgraph';

/** The OpenAPI document of these operations: their parameters, their bodies, and what of them is refused. `secured`: callers must authenticate. */
export function toOpenApi(rows: readonly Row[], { secured }: { readonly secured: boolean }): object {
  const paths: Record<string, Record<string, Json>> = {};
  for (const row of rows) {
    if (row.answer === 'socket') continue;
    (paths[row.path.slice(prefix.length)] ??= {})[row.method.toLowerCase()] = operation(row);
  }
  return {
    openapi: '3.1.0',
    info: { title: 'LangGraph Server API of the Agent Workflow Service', version: '1' },
    servers: [{ url: prefix }],
    paths,
    components: {
      schemas: {
        Refusal: { type: 'object', required: ['detail'], properties: { detail: { type: 'string' } } },
      },
      ...(secured && { securitySchemes: { bearer, key } }),
    },
    security: secured ? [{ bearer: [] }, { key: [] }] : [],
  };
}

const bearer = { type: 'http', scheme: 'bearer' };
const key = { type: 'apiKey', in: 'header', name: 'x-api-key' };

function operation(row: Row): Json {
  const { name, method, path, params, input, status, takesLastEventId, answer } = row;
  const access = accessOf(row);
  const inQuery = takesQuery(method) || row.takesQuery === true;
  const parameters = [
    ...parametersOf(params, 'path'),
    ...(inQuery ? parametersOf(input, 'query') : []),
    ...(takesLastEventId ? [{ name: 'Last-Event-ID', in: 'header', schema: { type: 'string' } }] : []),
  ];
  const refusals = refusalsOf(`${method} ${path.slice(prefix.length)}`);
  const content = { [answer === 'events' ? 'text/event-stream' : 'application/json']: { schema: {} } };
  return {
    operationId: name,
    summary: summaryOf(name),
    ...(refusals.length > 0 && { description: `Refused:\n${refusals.map((line) => `- ${line}\n`).join('')}` }),
    ...(access && { 'x-access': `${access.resource}:${access.action}` }),
    ...(parameters.length > 0 && { parameters }),
    ...(input && method !== 'GET' && { requestBody: bodyOf(row, input) }),
    responses: {
      [status]: { description: 'Success', ...(status !== 204 && { content }) },
      default: {
        description: 'A refusal',
        content: { 'application/json': { schema: { $ref: '#/components/schemas/Refusal' } } },
      },
    },
  };
}

const parametersOf = (schema: TSchema | undefined, place: 'path' | 'query'): readonly Json[] =>
  Object.entries(schema ? propertiesOf(schema) : {}).map(([name, own]) => ({
    name,
    in: place,
    ...(place === 'path' && { required: true }),
    schema: own,
  }));

/** The body; where it is a list, that is one member of the input. */
const bodyOf = ({ method, listBody }: Row, input: TSchema): Json => ({
  required: method !== 'DELETE',
  content: { 'application/json': { schema: listBody === undefined ? input : propertiesOf(input)[listBody] } },
});

/** `lgCreateRun` as `Create run`. */
function summaryOf(name: string): string {
  const words = name.slice('lg'.length).replaceAll(/[A-Z]/g, (letter) => ` ${letter.toLowerCase()}`);
  return words.slice(1, 2).toUpperCase() + words.slice(2);
}

const keyOf = (named: string): string => named.replaceAll(/\{[^{}]*\}/g, '{}');

const refusalsOf = (named: string): readonly string[] =>
  refused
    .filter(({ operations }) => operations.some((each) => keyOf(each) === keyOf(named)))
    .map(({ parameter, values, status, why }) =>
      [parameter && `\`${parameter}\``, values, `(${String(status)}): ${why}`].filter(Boolean).join(' '),
    );
