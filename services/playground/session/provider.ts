import * as oauth from 'oauth4webapi';
import { renewalOf, type Login, type SignedIn } from './login.ts';
import { readSignInSettings, type SignInSettings } from './sign-in-settings.ts';

// The gateway names an issuer without TLS on its own machine alone.
// eslint-disable-next-line @typescript-eslint/no-deprecated -- it is marked so to stand out
const insecure: typeof oauth.allowInsecureRequests = oauth.allowInsecureRequests;

/** The provider of OpenID Connect at which people sign in, as it describes itself. */
interface Provider {
  readonly settings: SignInSettings;
  readonly server: oauth.AuthorizationServer;
  readonly client: oauth.Client;
  readonly options: HttpOptions;
}

type HttpOptions = Pick<oauth.DiscoveryRequestOptions, typeof insecure>;

/** What is kept from the way to the provider until the way back, in this tab. */
interface Begun {
  readonly state: string;
  readonly nonce: string;
  readonly verifier: string;
  /** Where the reader was. */
  readonly hash: string;
}

const begunKey = 'sign-in';
const redirectUri = `${location.origin}/playground`;

/** The page has no secret: the code that it gets is good for who has the verifier alone (PKCE). */
const withoutSecret = oauth.None();

/** @throws when the provider cannot be reached, or is not the one that the gateway names */
async function findProvider(): Promise<Provider> {
  const settings = await readSignInSettings();
  if (!settings) throw new Error('The service says no place to sign in.');
  if (!isSecureContext) throw new Error('Signing in needs https, or this machine.');
  const issuer = new URL(settings.issuer);
  const options: HttpOptions = { [insecure]: issuer.protocol === 'http:' };
  const found = await oauth.discoveryRequest(issuer, options);
  const server = await oauth.processDiscoveryResponse(issuer, found);
  return { settings, server, client: { client_id: settings.client_id }, options };
}

/** Leads the tab to the provider. */
export async function beginSignIn(): Promise<void> {
  const { settings, server } = await findProvider();
  const { authorization_endpoint: address, code_challenge_methods_supported: methods } = server;
  if (address === undefined || (methods && !methods.includes('S256')))
    throw new Error('The provider has no sign-in by code and PKCE.');
  const begun: Begun = {
    state: oauth.generateRandomState(),
    nonce: oauth.generateRandomNonce(),
    verifier: oauth.generateRandomCodeVerifier(),
    hash: location.hash,
  };
  const { audience } = settings;
  const parameters = {
    ...{ response_type: 'code', client_id: settings.client_id, redirect_uri: redirectUri, scope: settings.scopes },
    ...{ state: begun.state, nonce: begun.nonce, code_challenge_method: 'S256' },
    code_challenge: await oauth.calculatePKCECodeChallenge(begun.verifier),
    // The one is of RFC 8707, the other of providers that are older than it.
    ...(audience !== undefined && { resource: audience, audience }),
  };
  const target = new URL(address);
  for (const [name, value] of Object.entries(parameters)) target.searchParams.set(name, value);
  sessionStorage.setItem(begunKey, JSON.stringify(begun));
  location.assign(target);
}

/**
 * Ends a sign-in that this tab has begun, by what the provider has put into the address.
 * @throws when it was begun elsewhere, or the provider or one of its answers is not the right one
 */
export async function finishSignIn(parameters: URLSearchParams): Promise<SignedIn & Pick<Begun, 'hash'>> {
  const kept = sessionStorage.getItem(begunKey);
  sessionStorage.removeItem(begunKey);
  if (kept === null) throw new Error('This sign-in was not begun in this tab.');
  const { state, nonce, verifier, hash } = JSON.parse(kept) as Begun;
  const { server, client, options } = await findProvider();
  const answer = oauth.validateAuthResponse(server, client, parameters, state);
  const reply = await oauth.authorizationCodeGrantRequest(
    ...[server, client, withoutSecret, answer, redirectUri, verifier, options],
  );
  const checks = { expectedNonce: nonce, requireIdToken: true };
  return { ...toSignedIn(await oauth.processAuthorizationCodeResponse(server, client, reply, checks)), hash };
}

/** Gets a new token. @throws RefusedRenewal when the provider gives none any more; else what kept it from answering */
export async function renew(login: Login): Promise<SignedIn> {
  const { server, client, options } = await findProvider();
  const { refreshToken = '' } = login;
  const reply = await oauth.refreshTokenGrantRequest(server, client, withoutSecret, refreshToken, options);
  return toSignedIn(await oauth.processRefreshTokenResponse(server, client, reply), login);
}

/** Whether the provider has refused, and does so again. */
export const isRefusal = (error: unknown): boolean => error instanceof oauth.ResponseBodyError;

/** What has failed, for a reader. What the address says is shown as far as it is a code of the standard. */
export function sentenceOf(error: unknown): string {
  if (error instanceof oauth.AuthorizationResponseError || error instanceof oauth.ResponseBodyError)
    return `The provider has refused${/^[a-z_]{1,40}$/.test(error.error) ? `: ${error.error}` : ''}.`;
  return error instanceof Error ? error.message : String(error);
}

/** What stays of the login before is what the reply does not replace. */
const toSignedIn = (reply: oauth.TokenEndpointResponse, before: Login = {}): SignedIn => {
  const { access_token: token, expires_in: seconds, refresh_token: refreshToken, id_token: idToken } = reply;
  return {
    token,
    login: {
      ...before,
      ...(seconds !== undefined && { renewAt: renewalOf(Date.now(), seconds * 1000) }),
      ...(refreshToken !== undefined && { refreshToken }),
      ...(idToken !== undefined && { idToken }),
    },
  };
};

/** Signs out at the provider: what renews the token counts no more, and the tab is led to where the provider's own session ends, if it says so. */
export async function signOutThere({ refreshToken, idToken }: Login): Promise<void> {
  const { server, client, options } = await findProvider();
  if (refreshToken !== undefined && server.revocation_endpoint !== undefined)
    await oauth.revocationRequest(server, client, withoutSecret, refreshToken, options).catch(() => undefined);
  if (server.end_session_endpoint === undefined) return;
  const target = new URL(server.end_session_endpoint);
  target.searchParams.set('client_id', client.client_id);
  target.searchParams.set('post_logout_redirect_uri', redirectUri);
  if (idToken !== undefined) target.searchParams.set('id_token_hint', idToken);
  location.assign(target);
}
