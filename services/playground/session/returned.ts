import { signIn, signInReason } from './session.ts';

/** Ends a sign-in that a provider leads back from, before anything else is read: its answer stands in the address, from which it is taken at once. */
export async function readReturn(): Promise<void> {
  const parameters = new URLSearchParams(location.search);
  if (!parameters.has('state') || !(parameters.has('code') || parameters.has('error'))) return;
  history.replaceState(null, '', location.pathname + location.hash);
  const { finishSignIn, sentenceOf } = await import('./provider.ts');
  try {
    const { token, login, hash } = await finishSignIn(parameters);
    history.replaceState(null, '', location.pathname + hash);
    signIn(token, login);
  } catch (error) {
    signInReason.value = { failed: sentenceOf(error) };
  }
}
