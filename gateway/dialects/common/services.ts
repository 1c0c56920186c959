import type { Log } from '@agent-workflow/kit/log';
import type { Execution } from '@agent-workflow/protos/execution';
import type { Memory } from '@agent-workflow/protos/memory';
import type {
  AgentCalls,
  FileCalls,
  HistoryCalls,
  IdempotencyCalls,
  MessageCalls,
  QuestionCalls,
  ResourceCalls,
  RunReadCalls,
  StateCalls,
  ThreadChangeCalls,
  ThreadReadCalls,
} from '@agent-workflow/protos/threads';
import type { Static, TSchema } from 'typebox';
import type { AccessRules } from '../../access/rules.ts';
import type { FileStore } from '../../files/index.ts';
import type { Access, Subject } from '../../http/access.ts';
import type { Principal } from '../../http/context.ts';
import type { Endpoint, Handler, Row } from '../../http/endpoint.ts';
import type { RequestConfig } from '../../http/settings.ts';
import type { TicketStore } from '../../tickets/index.ts';
import type { ToolStore } from '../../tools/index.ts';
import type { ReadinessCheck } from '../../upstream/readiness.ts';

/** What a dialect reads of its own settings. */
interface McpConfig {
  readonly MCP_MEMORY_TOOLS: 'on' | 'off';
}

/** What handlers use. */
export interface Services {
  /** The gateway reads runs; it neither drives nor ends them. */
  readonly threads: RunReadCalls &
    ThreadReadCalls &
    ThreadChangeCalls &
    StateCalls &
    MessageCalls &
    QuestionCalls &
    HistoryCalls &
    IdempotencyCalls &
    FileCalls &
    AgentCalls &
    ResourceCalls;
  readonly execution: Execution;
  readonly memory: Memory;
  /** For `/readyz`. */
  readonly readiness: ReadinessCheck;
  readonly files: FileStore;
  readonly tools: ToolStore;
  readonly tickets: TicketStore;
  readonly config: RequestConfig & McpConfig;
  /** The addresses of those whose tokens are taken. */
  readonly issuers: readonly string[];
  /** Whether callers authenticate: the user of a run is then the principal's, whatever the body says. */
  readonly secured: boolean;
  /** What `decide` of `gateway/access/` goes by. */
  readonly access: AccessRules;
  /** Whether everyone on this machine is let in, and nobody else: all callers are operators. */
  readonly isLocal: boolean;
  /**
   * Asks the authorization backend about a run that somebody else than its owner starts. @returns the agent for which it was allowed;
   * `undefined` where that does not depend on the agent. @throws PermissionDenied
   */
  readonly authorizeRun: (
    principal: Principal,
    row: Row,
    input: unknown,
    params?: Readonly<Record<string, string>>,
  ) => Promise<string | undefined>;
  /**
   * Asks the authorization backend about one of several things that a request touches, by its agent and thread; absent where it does not decide by
   * these, and what it was asked about the request suffices.
   */
  readonly mayTouch?: ((principal: Principal, access: Access, subject: Subject) => Promise<boolean>) | undefined;
  readonly log: Log;
  /** The OpenAPI document, as JSON text. */
  readonly openApi: () => string;
}

/** A row of a dialect. */
export type ServiceEndpoint = Endpoint<Services>;

/** A row as its author gives it: what is usual is left out. */
export type Given<P extends TSchema, I extends TSchema> = Omit<
  Row,
  'aliases' | 'answer' | 'status' | 'params' | 'input'
> &
  Partial<Pick<Row, 'aliases' | 'answer' | 'status'>> & {
    readonly params?: P;
    readonly input?: I;
    readonly handle: Handler<Services, Static<P>, Static<I>>;
  };

/** A row whose handler is typed by its schemas, which are checked before it is called. */
export const endpoint = <P extends TSchema = TSchema, I extends TSchema = TSchema>(
  row: Given<P, I>,
): ServiceEndpoint => ({
  aliases: [],
  answer: 'data',
  status: 200,
  ...row,
  handle: row.handle as Handler<Services>,
});
