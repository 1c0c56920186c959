import { AsyncDisposableStack, DisposableStack } from '@whatwg-node/disposablestack';

/** What the service uses of Node 24 and Node 22 lacks. Loaded before everything else. */
const global = globalThis as { AsyncDisposableStack?: unknown; DisposableStack?: unknown };
global.AsyncDisposableStack ??= AsyncDisposableStack;
global.DisposableStack ??= DisposableStack;
