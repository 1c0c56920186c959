import type { Weaviate } from '../client/weaviate.ts';

/** Does `work` on a tenant, which is not deactivated until `work` ends. */
export type UseTenant = <T>(tenant: string, work: () => Promise<T>) => Promise<T>;

/** Tracks which tenants are in use, so that the others can be deactivated. */
interface Tenants {
  readonly use: UseTenant;
  /** Deactivates the tenants that this process has not used for `idleMs`. Another process that uses one activates it again. */
  readonly deactivateIdle: () => Promise<void>;
}

interface TenantsOptions {
  readonly weaviate: Weaviate;
  readonly collection: string;
  readonly idleMs: number;
  readonly now?: () => number;
}

/** How many tenants one request deactivates. */
const tenantsAtOnce = 50;

export function createTenants({ weaviate, collection, idleMs, now = Date.now }: TenantsOptions): Tenants {
  const lastUse = new Map<string, number>();
  const inUse = new Map<string, number>();
  let isFirstTime = true;

  /** Tenants that an earlier process left active count as used now. */
  const findActive = async (): Promise<void> => {
    for (const { name, isActive } of await weaviate.listTenants(collection)) {
      if (isActive && !lastUse.has(name)) lastUse.set(name, now());
    }
    isFirstTime = false;
  };

  return {
    use: async (tenant, work) => {
      inUse.set(tenant, (inUse.get(tenant) ?? 0) + 1);
      try {
        return await work();
      } finally {
        const left = (inUse.get(tenant) ?? 1) - 1;
        if (left > 0) inUse.set(tenant, left);
        else inUse.delete(tenant);
        lastUse.set(tenant, now());
      }
    },

    deactivateIdle: async () => {
      if (isFirstTime) await findActive();
      const idle = [...lastUse].filter(([tenant, at]) => now() - at >= idleMs && !inUse.has(tenant));
      for (let from = 0; from < idle.length; from += tenantsAtOnce) {
        const chunk = idle.slice(from, from + tenantsAtOnce).map(([tenant]) => tenant);
        // A tenant that was only read does not exist.
        const known = await Promise.all(chunk.map(async (tenant) => weaviate.hasTenant(collection, tenant)));
        await weaviate.deactivate(
          collection,
          chunk.filter((tenant, index) => known[index] && !inUse.has(tenant)),
        );
        for (const tenant of chunk) if (!inUse.has(tenant)) lastUse.delete(tenant);
      }
    },
  };
}
