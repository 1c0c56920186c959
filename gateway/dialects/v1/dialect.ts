import type { Dialect } from '../../http/dialect.ts';
import type { ServiceEndpoint } from '../common/services.ts';
import { endpoints } from './endpoints/table.ts';
import { namedIn } from './named.ts';
import { envelope, refuse } from './replies/envelope.ts';
import { ndjson, prefersNdjson } from './replies/ndjson.ts';
import { toOpenApi } from './replies/openapi.ts';
import { sse } from './replies/sse.ts';

/** The service's own dialect: JSON in an envelope, and a stream of events. */
export const v1: Dialect<ServiceEndpoint> = {
  name: 'v1',
  prefix: '/v1',
  rows: endpoints,
  envelope,
  deleted: '{"success":true}',
  refuse,
  framingFor: (accept) => (prefersNdjson(accept) ? ndjson : sse),
  namedIn,
  openApi: (options) => toOpenApi(endpoints, options),
};
