import { counter as counterOf, gauge, histogram, type Instruments } from '@agent-workflow/runtime/metrics';
import type { Row } from '../http/endpoint.ts';
import type { Counter } from '../limits/index.ts';

const classes = ['2xx', '3xx', '4xx', '5xx'];
const methods = ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'];
/** The bound on different values of the label `status`; some twenty occur. */
const statuses = 40;

/** The metrics of the gateway. `rows` are the endpoints; the route `none` stands for requests that match none of them. */
export const gatewayMetrics = (rows: readonly Pick<Row, 'name'>[]) => {
  const routes = [...rows.map(({ name }) => name), 'none'];
  return {
    requests: counterOf('agent_workflow_http_requests_total', 'Requests answered, streams among them', {
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
    rateLimited: counterOf('agent_workflow_rate_limited_total', 'Requests refused because a bound was reached', {
      limit: ['requests', 'failures', 'streams'],
    }),
  };
};

export type GatewayMeters = Instruments<ReturnType<typeof gatewayMetrics>>;

/** Counts the refusals of a counter in `agent_workflow_rate_limited_total`, by the first word of the key. */
export function countRefusals(counter: Counter, { rateLimited }: GatewayMeters): Counter {
  const countRefusal = (key: string): void => rateLimited.add({ limit: key.split(' ', 1)[0] ?? '' });
  return {
    ...counter,
    take: async (key, rate, cost) => {
      const rateState = await counter.take(key, rate, cost);
      if (!rateState.allowed) countRefusal(key);
      return rateState;
    },
    acquire: async (key, limit) => {
      const slot = await counter.acquire(key, limit);
      if (!slot) countRefusal(key);
      return slot;
    },
  };
}
