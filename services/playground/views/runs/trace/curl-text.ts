/** A request that is shown as a command. */
interface CurlRequest {
  readonly method?: 'GET' | 'POST';
  /** The whole address. */
  readonly url: string;
  readonly body?: unknown;
  /** Whether the service asks for a token. The command names it `$TOKEN`, and never holds it. */
  readonly hasToken: boolean;
}

/** A command of a shell that sends a request. */
export function curlText({ method = 'GET', url, body, hasToken }: CurlRequest): string {
  return [
    `curl ${method === 'GET' ? '' : `-X ${method} `}${shellQuoted(url)}`,
    ...(hasToken ? ['-H "authorization: Bearer $TOKEN"'] : []),
    ...(body === undefined ? [] : ["-H 'content-type: application/json'", `-d ${shellQuoted(JSON.stringify(body))}`]),
  ].join(' \\\n  ');
}

/** Nothing in single quotes means anything to a shell but the quote itself. */
const shellQuoted = (text: string): string => `'${text.replaceAll("'", String.raw`'\''`)}'`;
