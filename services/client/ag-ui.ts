import { HttpAgent, type HttpAgentConfig, type RunAgentInput } from '@ag-ui/client';
import { resumingFetch } from './resuming-fetch.ts';

/** AG-UI's `HttpAgent`, with its options: `url` is that of an agent of the service. */
interface ResumingAgentOptions extends HttpAgentConfig {
  /** For how long a stream that brings nothing is tried again, in milliseconds: a minute unless given. */
  readonly retryMs?: number;
}

/**
 * An `HttpAgent` of AG-UI whose streams go on where they were cut, and which connects: `connectAgent()` gives a page that is opened again the messages
 * and the state of its thread, and follows the newest run there, also of another page. A run goes on when its page leaves, and ends by `abortRun()`.
 */
export class ResumingAgent extends HttpAgent {
  private readonly connectUrl: string;

  constructor({ retryMs, ...config }: ResumingAgentOptions) {
    const connectUrl = `${config.url}/connect`;
    const { fetch } = config;
    super({
      ...config,
      fetch: resumingFetch({ connectUrl, ...(fetch && { fetch }), ...(retryMs !== undefined && { retryMs }) }),
    });
    this.connectUrl = connectUrl;
  }

  /** Leaves the run under way and stops it at the service; `detachActiveRun()` only leaves it. */
  override abortRun(): void {
    const isUnderWay = this.isRunning;
    super.abortRun();
    if (isUnderWay) void this.stopRun().catch(() => undefined);
  }

  /** Stops the newest run of the thread. @returns whether it ran @throws where the service refuses, or is not reached */
  async stopRun(): Promise<boolean> {
    const { url, threadId } = this;
    const headers = { ...this.headers, 'content-type': 'application/json' };
    const reply = await this.fetch(`${url}/stop`, { method: 'POST', headers, body: JSON.stringify({ threadId }) });
    if (!reply.ok) throw new Error(`the run was not stopped: ${String(reply.status)} ${await reply.text()}`);
    return ((await reply.json()) as { readonly stopped: boolean }).stopped;
  }

  protected override connect(input: RunAgentInput): ReturnType<HttpAgent['run']> {
    this.abortController = new AbortController();
    const connecting = this.clone();
    connecting.url = this.connectUrl;
    connecting.abortController = this.abortController;
    return connecting.run(input);
  }
}
