import { Webhook as Signer } from 'standardwebhooks';

interface Signed {
  readonly id: string;
  readonly at: Date;
  readonly body: string;
  readonly secrets: readonly string[];
}

const plainHeaders = { 'content-type': 'application/json', 'user-agent': 'agent-workflow' };

/** The headers of a delivery, as Standard Webhooks name them; without a secret there is no signature. @throws Error where a secret cannot sign. */
export function signedHeaders({ id, at, body, secrets }: Signed): Readonly<Record<string, string>> {
  const signatures = secrets.map((secret) => new Signer(secret).sign(id, at, body));
  return {
    ...plainHeaders,
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(at.getTime() / 1000)),
    ...(signatures.length > 0 && { 'webhook-signature': signatures.join(' ') }),
  };
}
