import { HttpAgent, type HttpAgentConfig, type RunAgentInput } from '@ag-ui/client';
import { resumingFetch } from './resuming-fetch.ts';

/** AG-UI's `HttpAgent`, with its options: `url` is that of an agent of the service. */
interface ResumingAgentOptions extends HttpAgentConfig {
  /** For how long a stream that brings nothing is tried again, in milliseconds: a minute unless given. */
  readonly retryMs?: number;
}

/**
 * An `HttpAgent` of AG-UI whose streams go on where they were cut, and which connects: `connectAgent()` gives a page that is opened again the messages
 * and the state of its thread, and follows the newest run there, also of another page. A run goes on when its page leaves.
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

  protected override connect(input: RunAgentInput): ReturnType<HttpAgent['run']> {
    this.abortController = new AbortController();
    const connecting = this.clone();
    connecting.url = this.connectUrl;
    connecting.abortController = this.abortController;
    return connecting.run(input);
  }
}
