import { counter, gauge, histogram, type Instruments } from '@agent-workflow/runtime/metrics';
import type { Row } from '../http/endpoint.ts';
import type { Counter } from '../limits/index.ts';

const classes = ['2xx', '3xx', '4xx', '5xx'];
const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];
/** Different statuses there may be: replies have some twenty. */
const statuses = 40;

/** What the edge measures; `rows` are those of the table, and `none` stands for a request that is for none of them. */
export const gatewayMetrics = (rows: readonly Pick<Row, 'name'>[]) => {
  const routes = [...rows.map(({ name }) => name), 'none'];
  return {
    requests: counter('agent_workflow_http_requests_total', 'Requests answered, streams among them', {
      route: routes,
      method: methods,
      status: statuses,
    }),
    seconds: histogram(
      'agent_workflow_http_request_seconds',
      'Time until a request was answered; streams are not among them',
      { route: routes, class: classes },
      [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300],
    ),
    streamsOpen: gauge('agent_workflow_http_streams_open', 'Streams that are open'),
    streamSeconds: histogram(
      'agent_workflow_http_stream_seconds',
      'Time that a stream was open',
      {},
      [0.1, 0.5, 1, 5, 15, 60, 300, 900, 3600, 14_400],
    ),
    rateLimited: counter('agent_workflow_rate_limited_total', 'Requests refused because a bound was reached', {
      limit: ['requests', 'failures', 'streams'],
    }),
  };
};

export type GatewayMeters = Instruments<ReturnType<typeof gatewayMetrics>>;

/** The same counter; what it refuses is counted by the first word of its key. */
export function countRefusals(refused: Counter, { rateLimited }: GatewayMeters): Counter {
  const refuse = (key: string): void => rateLimited.add({ limit: key.split(' ', 1)[0] ?? '' });
  return {
    ...refused,
    take: async (key, rate, cost) => {
      const standing = await refused.take(key, rate, cost);
      if (!standing.allowed) refuse(key);
      return standing;
    },
    hold: async (key, limit) => {
      const hold = await refused.hold(key, limit);
      if (!hold) refuse(key);
      return hold;
    },
  };
}
