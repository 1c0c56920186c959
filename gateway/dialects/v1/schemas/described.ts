import type { TSchema } from 'typebox';
import type { Row } from '../../../http/endpoint.ts';

/**
 * A request that works, and its reply. The OpenAPI document shows it, and a test executes it, with ids that exist in place of those
 * of `examples/ids.ts`.
 */
export interface Example {
  readonly params?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, unknown>>;
  readonly body?: Readonly<Record<string, unknown>>;
  /** `data` of the reply; of a stream, one of its events. */
  readonly reply: unknown;
}

/** What the OpenAPI document says of a row beside what the gateway makes from it. `name` is the id of its operation. */
export interface Described {
  /** What it does, in a line. */
  readonly summary: string;
  /** What it does, when it refuses, and how it ends, for a caller. */
  readonly description: string;
  readonly example: Example;
  readonly tag: string;
  readonly reply: TSchema;
}

export type DescribedRow = Row & Described;
