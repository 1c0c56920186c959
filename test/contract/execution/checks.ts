import type { ExecutionContext, TestFn } from 'ava';
import type { CompiledGraph } from '@agent-workflow/graph';
import { isServiceError, type ErrorCode } from '@agent-workflow/kit/errors';
import type { Execution } from '@agent-workflow/protos/execution';
import type { Memory } from '@agent-workflow/protos/memory';
import type { Threads } from '@agent-workflow/protos/threads';

/** The execution service and what it stands on, opened for one graph. */
export interface Services extends AsyncDisposable {
  readonly execution: Execution;
  readonly threads: Threads;
  readonly memory: Memory;
}

export interface OpenServices {
  readonly graph: CompiledGraph | undefined;
  /** Where the data is kept; absent: nowhere. */
  readonly folder?: string;
  readonly env?: Readonly<Record<string, string>>;
}

export type Opener = (options: OpenServices) => Promise<Services>;

type Body = (t: ExecutionContext, services: Services) => Promise<void>;

/** Makes tests that each have services of their own. */
export function checksOf(test: TestFn, name: string, open: Opener) {
  const check = (
    title: string,
    graph: CompiledGraph | undefined,
    body: Body,
    env: Readonly<Record<string, string>> = {},
  ): void => {
    test(`${name}: ${title}`, async (t) => {
      await using services = await open({ graph, env });
      await body(t, services);
    });
  };

  /** The same before all others: what moves many megabytes would hold up those that run beside it. */
  const checkAlone = (title: string, graph: CompiledGraph | undefined, body: Body): void => {
    test.serial(`${name}: ${title}`, async (t) => {
      await using services = await open({ graph });
      await body(t, services);
    });
  };

  return { check, checkAlone };
}

export async function refused(t: ExecutionContext, work: Promise<unknown>, code: ErrorCode): Promise<string> {
  const error = await t.throwsAsync(work, undefined, `nothing was refused with ${code}`);
  t.true(isServiceError(error, code), `${code} was expected, not ${String(error)}`);
  return error.message;
}
