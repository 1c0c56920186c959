import test from 'ava';
import { operationsOf, type OpenApi, type Operation } from './open-api.ts';

const operation = (operationId: string, tag: string): Operation => ({
  operationId,
  summary: operationId,
  tags: [tag],
  responses: {},
});

const document: OpenApi = {
  info: { title: '', description: '' },
  tags: [],
  components: { schemas: {}, responses: {} },
  security: [],
  'x-error-codes': {},
  'x-events': {},
  paths: {
    '/v1/ping': { get: operation('ping', 'health') },
    '/ping': { get: operation('pingAlias', 'health') },
    '/v1/x': { get: operation('getX', 'x'), post: operation('makeAlias', 'x') },
  },
};

test('the operations of a tag stand in the order of the document, in upper case', (t) => {
  t.deepEqual(
    operationsOf(document, 'x').map(({ method, path }) => `${method} ${path}`),
    ['GET /v1/x', 'POST /v1/x'],
  );
});

test('a further route stands with its operation', (t) => {
  t.deepEqual(
    operationsOf(document, 'health').map(({ path, aliases }) => [path, aliases]),
    [['/v1/ping', ['GET /ping']]],
  );
});
