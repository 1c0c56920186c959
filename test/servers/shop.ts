import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Where the agent `dear` pays. It counts what it is asked for, and refuses what it is told to. */
export interface Shop extends AsyncDisposable {
  /** The address at which one run and those that try it again pay. */
  readonly urlOf: (account: string) => string;
  readonly account: (name: string) => Account;
}

/** What was paid in one name. */
export class Account {
  /** What was asked for, in the order in which it was. */
  readonly paid: string[] = [];
  /** The keys under which each was. */
  readonly keys = new Map<string, Set<string>>();
  /** What is refused. */
  readonly refused = new Set<string>();
  /** What is done when something is asked for the next time, before it is answered. */
  readonly meanwhile = new Map<string, () => Promise<void>>();
  #isBesideDone = true;
  readonly #waiting: (() => void)[] = [];

  pay(what: string, key: string, response: ServerResponse): void {
    this.paid.push(what);
    this.keys.set(what, (this.keys.get(what) ?? new Set()).add(key));
    if (what === 'beside') this.#isBesideDone = false;
    const answer = (): void => {
      response.writeHead(this.refused.has(what) ? 500 : 200).end();
    };
    const meanwhile = this.meanwhile.get(what);
    this.meanwhile.delete(what);
    // The step fails once the node beside it has returned.
    if (meanwhile) void meanwhile().then(answer);
    else if (this.refused.has(what) && !this.#isBesideDone) this.#waiting.push(answer);
    else answer();
  }

  /** The node beside the branches has returned. */
  besideIsDone(response: ServerResponse): void {
    this.#isBesideDone = true;
    for (const answer of this.#waiting.splice(0)) answer();
    response.end();
  }
}

export async function openShop(): Promise<Shop> {
  const accounts = new Map<string, Account>();
  const account = (name: string): Account => {
    const known = accounts.get(name) ?? new Account();
    accounts.set(name, known);
    return known;
  };
  const server = createServer((request: IncomingMessage, response) => {
    const [name = '', what = ''] = (request.url ?? '').slice(1).split('/').map(decodeURIComponent);
    request.resume();
    if (what === 'beside-done') account(name).besideIsDone(response);
    else account(name).pay(what, String(request.headers['idempotency-key']), response);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return {
    urlOf: (name) => `http://127.0.0.1:${String(port)}/${encodeURIComponent(name)}`,
    account,
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
