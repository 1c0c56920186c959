import type { Client } from 'cassandra-driver';

/** What the driver's types leave out of the connection by which it hears of the cluster. */
interface Control {
  _refresh: (hosts?: unknown) => Promise<void>;
}

/** After a failure that the driver does not catch. */
const retryMs = 1000;

/**
 * Lets the driver look for a new control connection once at a time. When connections break in quick succession it begins
 * several such searches; they take the connection from under each other, and the failure, which nobody catches, would end the
 * process.
 */
export function searchOneAtATime(client: Client): void {
  const { controlConnection: control } = client as unknown as { readonly controlConnection: Control };
  const refresh = control._refresh.bind(control);
  let search: Promise<void> | undefined;
  const later = (): void => {
    setTimeout(() => void control._refresh(), retryMs).unref();
  };
  control._refresh = (hosts) => {
    // With hosts it is the same search that goes on.
    if (hosts !== undefined) return refresh(hosts);
    search ??= refresh()
      .catch(later)
      .finally(() => {
        search = undefined;
      });
    return search;
  };
}
