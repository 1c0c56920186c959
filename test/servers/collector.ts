import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A span as it came in. */
export interface SpanSent {
  /** The process that made it: `service.name`. */
  readonly service: string;
  readonly name: string;
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId: string | undefined;
  readonly attributes: Readonly<Record<string, unknown>>;
  readonly isError: boolean;
}

/** Takes traces by OTLP over HTTP with JSON, as a collector does. */
export interface Collector extends AsyncDisposable {
  readonly endpoint: string;
  /** All that has come in. */
  readonly spans: () => readonly SpanSent[];
  /** Every body as it came in. */
  readonly bodies: () => readonly string[];
}

interface Value {
  readonly stringValue?: string;
  readonly intValue?: number;
  readonly boolValue?: boolean;
  readonly arrayValue?: { readonly values: readonly Value[] };
}
interface Attribute {
  readonly key: string;
  readonly value: Value;
}
interface Sent {
  readonly resourceSpans: readonly {
    readonly resource: { readonly attributes: readonly Attribute[] };
    readonly scopeSpans: readonly {
      readonly spans: readonly {
        readonly name: string;
        readonly traceId: string;
        readonly spanId: string;
        readonly parentSpanId?: string;
        readonly attributes: readonly Attribute[];
        readonly status?: { readonly code?: number };
      }[];
    }[];
  }[];
}

const errorCode = 2;

export async function openCollector(): Promise<Collector> {
  const bodies: string[] = [];
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      if (request.url === '/v1/traces') bodies.push(Buffer.concat(parts).toString());
      response.writeHead(request.url === '/v1/traces' ? 200 : 404, { 'content-type': 'application/json' }).end('{}');
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    endpoint: `http://127.0.0.1:${String(port)}`,
    bodies: () => bodies,
    spans: () => bodies.flatMap((body) => toSpans(JSON.parse(body) as Sent)),
    [Symbol.asyncDispose]: async () => {
      server.close();
      server.closeAllConnections();
      await once(server, 'close');
    },
  };
}

const toSpans = ({ resourceSpans }: Sent): SpanSent[] =>
  resourceSpans.flatMap(({ resource, scopeSpans }) =>
    scopeSpans.flatMap(({ spans }) =>
      spans.map(({ name, traceId, spanId, parentSpanId, attributes, status }) => ({
        ...{ name, traceId, spanId, parentSpanId: parentSpanId === '' ? undefined : parentSpanId },
        service: String(valuesOf(resource.attributes)['service.name']),
        attributes: valuesOf(attributes),
        isError: status?.code === errorCode,
      })),
    ),
  );

const valuesOf = (attributes: readonly Attribute[]): Record<string, unknown> =>
  Object.fromEntries(attributes.map(({ key, value }) => [key, toValue(value)]));

function toValue({ arrayValue: list, ...single }: Value): unknown {
  return list ? list.values.map(toValue) : Object.values(single)[0];
}
