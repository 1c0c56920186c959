/**
 * Why a call failed whose server does not know this process. It stands as the cause of what is `Unavailable` to the callers of this
 * process: the server is there, and the operator has to change a setting. Its message names the server, and causes are never sent.
 */
export class UnknownCaller extends Error {
  override readonly name = 'UnknownCaller';

  constructor(context: string, address: string, cause?: unknown) {
    super(
      `the ${context} service at ${address} does not know the caller: SERVICE_TOKEN is absent or wrong`,
      cause === undefined ? undefined : { cause },
    );
  }
}
