import { createHash, randomBytes, type KeyObject } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { ecPair, inSeconds, jwkOf, makeToken } from './tokens.ts';

/** How a provider is different from a good one. */
interface ProviderOptions {
  /** The `aud` of its access tokens. */
  readonly audience: string;
  readonly clientId: string;
  /** How long its access tokens live, in seconds. */
  readonly tokenSeconds?: number;
}

/** What a test makes a provider do. */
interface Misbehaviour {
  /** The `iss` in the address that leads back; `null`: none, though it is announced. */
  iss?: string | null;
  state?: string;
  nonce?: string;
  /** It refuses whoever signs in. */
  error?: string;
  /** Refresh tokens are refused, or the token endpoint is away. */
  renewal?: 'refused' | 'away';
}

/** A provider of OpenID Connect with one public client, where everybody is ada: the way of the code with PKCE, rotating refresh tokens, and its end. */
export interface OidcProvider extends AsyncDisposable {
  readonly issuer: string;
  /** Each request that it got, as `GET /authorize`. */
  readonly requests: readonly string[];
  /** Access tokens that it gave, the newest last. */
  readonly tokens: readonly string[];
  readonly misbehaviour: Misbehaviour;
}

interface Code {
  readonly challenge: string;
  readonly redirectUri: string;
  readonly nonce: string;
}

/** Everybody. */
const ada: Readonly<Record<string, unknown>> = { sub: 'ada' };

const base64url = (bytes: number): string => randomBytes(bytes).toString('base64url');

export async function openOidcProvider({
  audience,
  clientId,
  tokenSeconds = 600,
}: ProviderOptions): Promise<OidcProvider> {
  const { privateKey, publicKey }: { privateKey: KeyObject; publicKey: KeyObject } = ecPair('P-256');
  const requests: string[] = [];
  const tokens: string[] = [];
  const misbehaviour: Misbehaviour = {};
  const codes = new Map<string, Code>();
  const refreshTokens = new Set<string>();
  let issuer = '';

  const sign = (claims: Readonly<Record<string, unknown>>): string =>
    makeToken('ES256', privateKey, { claims: { ...ada, iss: issuer, iat: inSeconds(0), ...claims } });

  const authorize = (query: URLSearchParams, response: ServerResponse): void => {
    const wanted = Object.fromEntries(query);
    const isGood =
      wanted['client_id'] === clientId &&
      wanted['response_type'] === 'code' &&
      wanted['code_challenge_method'] === 'S256';
    if (!isGood) {
      response.writeHead(400).end('no such client');
      return;
    }
    const target = new URL(wanted['redirect_uri'] ?? '');
    const { error, iss = issuer, state = wanted['state'] ?? '' } = misbehaviour;
    target.searchParams.set('state', state);
    if (iss !== null) target.searchParams.set('iss', iss);
    if (error !== undefined) target.searchParams.set('error', error);
    else {
      const code = base64url(16);
      const [challenge = '', redirectUri = '', nonce = ''] = ['code_challenge', 'redirect_uri', 'nonce'].map(
        (name) => wanted[name],
      );
      codes.set(code, { challenge, redirectUri, nonce: misbehaviour.nonce ?? nonce });
      target.searchParams.set('code', code);
    }
    response.writeHead(302, { location: target.href }).end();
  };

  const give = (nonce: string | undefined): object => {
    const token = sign({ aud: audience, exp: inSeconds(tokenSeconds), jti: base64url(8) });
    tokens.push(token);
    const refreshToken = base64url(16);
    refreshTokens.add(refreshToken);
    return {
      ...{ access_token: token, token_type: 'Bearer', expires_in: tokenSeconds, refresh_token: refreshToken },
      ...(nonce !== undefined && { id_token: sign({ aud: clientId, exp: inSeconds(600), nonce }) }),
    };
  };

  const redeem = (form: URLSearchParams): object | undefined => {
    if (form.get('client_id') !== clientId) return undefined;
    if (form.get('grant_type') === 'refresh_token')
      // Each is good for one time.
      return refreshTokens.delete(form.get('refresh_token') ?? '') ? give(undefined) : undefined;
    const code = codes.get(form.get('code') ?? '');
    codes.delete(form.get('code') ?? '');
    const shown = createHash('sha256')
      .update(form.get('code_verifier') ?? '')
      .digest('base64url');
    return code?.challenge === shown && code.redirectUri === form.get('redirect_uri') ? give(code.nonce) : undefined;
  };

  const describe = (): object => ({
    ...{ issuer, authorization_endpoint: `${issuer}/authorize`, token_endpoint: `${issuer}/token` },
    ...{ jwks_uri: `${issuer}/keys`, revocation_endpoint: `${issuer}/revoke`, end_session_endpoint: `${issuer}/end` },
    ...{ id_token_signing_alg_values_supported: ['ES256'], code_challenge_methods_supported: ['S256'] },
    authorization_response_iss_parameter_supported: true,
  });
  const answerForm = (path: string, form: URLSearchParams): readonly [status: number, value: object] => {
    if (path === '/revoke') {
      refreshTokens.delete(form.get('token') ?? '');
      return [200, {}];
    }
    const renewal = form.get('grant_type') === 'refresh_token' ? misbehaviour.renewal : undefined;
    if (renewal === 'away') return [503, {}];
    const given = renewal === 'refused' ? undefined : redeem(form);
    return given ? [200, given] : [400, { error: 'invalid_grant' }];
  };
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { pathname, searchParams } = new URL(request.url ?? '', issuer);
    requests.push(`${String(request.method)} ${pathname}`);
    // Pages of other origins send simple requests, so no preflight asks.
    response.setHeader('access-control-allow-origin', '*');
    if (pathname === '/authorize') authorize(searchParams, response);
    else if (pathname === '/end')
      response.writeHead(302, { location: searchParams.get('post_logout_redirect_uri') ?? '' }).end();
    else {
      const [status, value] =
        request.method === 'POST'
          ? answerForm(pathname, new URLSearchParams(await text(request)))
          : [200, pathname === '/keys' ? { keys: [jwkOf(publicKey)] } : describe()];
      response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(value));
    }
  };

  const server = createServer((request, response) => void answer(request, response)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  issuer = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
  return {
    ...{ issuer, requests, tokens, misbehaviour },
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
