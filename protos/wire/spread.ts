import { experimental, Metadata, status, type MetadataOptions } from '@grpc/grpc-js';

const { ChildLoadBalancerHandler, createChildChannelControlHelper, parseLoadBalancingConfig, PickResultType } =
  experimental;
type Helper = experimental.ChannelControlHelper;
type Picker = experimental.Picker;
type PickResult = experimental.PickResult;

/** Where the attempts of one call have gone. */
export interface Tried {
  readonly addresses: Set<string>;
  /** Whether the next attempt is of use at an address only that has not been tried and is not silent. */
  mustDiffer: boolean;
  /** Addresses that are used only where there is no other. */
  readonly silent?: ReadonlySet<string>;
  /** The one address where it is to go. */
  readonly only?: string;
  /** Where it is to go unless that has been tried or is silent. */
  readonly preferred?: string | undefined;
  /** Called with the address of each attempt. */
  readonly onPick?: (address: string) => void;
}

/** The details of the status of an attempt that had to differ and could not. */
export const nowhereElse = 'every server in turn has been tried';

const triedBy = new WeakMap<MetadataOptions, Tried>();

/** From here on a call with this metadata goes to an address that was not tried, where there is one, and notes it. */
export function spreadBy(tried: Tried, metadata: Metadata): void {
  const options: MetadataOptions = {};
  triedBy.set(options, tried);
  metadata.setOptions(options);
}

/** The name of the policy in a service config. */
export const spreading = 'agent_workflow_spread';

/** `round_robin` of gRPC, where each further attempt of a call goes to a server that it has not been to, and none to a silent one. */
class SpreadBalancer extends ChildLoadBalancerHandler {
  constructor(helper: Helper) {
    super(
      createChildChannelControlHelper(helper, {
        updateState: (state, picker, error) => {
          helper.updateState(state, toSpreadPicker(picker), error);
        },
      }),
    );
  }

  override updateAddressList(...[endpoints, , ...rest]: Parameters<Updates>): boolean {
    return super.updateAddressList(endpoints, roundRobin, ...rest);
  }

  override getTypeName(): string {
    return spreading;
  }
}

type Updates = InstanceType<typeof ChildLoadBalancerHandler>['updateAddressList'];

const roundRobin = parseLoadBalancingConfig({ round_robin: {} });

class SpreadConfig {
  static createFromJson(): SpreadConfig {
    return new SpreadConfig();
  }

  getLoadBalancerName(): string {
    return spreading;
  }

  toJsonObject(): object {
    return { [spreading]: {} };
  }
}

experimental.registerLoadBalancerType(spreading, SpreadBalancer, SpreadConfig);

const toSpreadPicker = (picker: Picker): Picker => ({
  pick: (args) => {
    const picked = picker.pick(args);
    const tried = triedBy.get(args.metadata.getOptions());
    if (!tried || addressOf(picked) === undefined) return picked;
    const chosen = choose(picked, tried, () => picker.pick(args));
    if (!chosen) return refuse();
    const address = addressOf(chosen) ?? '';
    tried.addresses.add(address);
    tried.onPick?.(address);
    return chosen;
  },
});

/** Goes once around at most, and takes the first that is best; `undefined` where none will do. */
function choose(
  first: PickResult,
  { addresses, silent, only, preferred, mustDiffer }: Tried,
  next: () => PickResult,
): PickResult | undefined {
  const begun = addressOf(first);
  const found: (PickResult | undefined)[] = [];
  let picked = first;
  do {
    const address = addressOf(picked);
    if (address === undefined) break;
    if (only === undefined) {
      const place = (addresses.has(address) ? 1 : 0) + (silent?.has(address) ? 2 : 0);
      if (place === 0 && (preferred === undefined || address === preferred)) return picked;
      found[place] ??= picked;
    } else if (address === only) return picked;
    picked = next();
  } while (addressOf(picked) !== begun);
  if (only !== undefined) return undefined;
  return mustDiffer ? found[0] : found.find((result) => result !== undefined);
}

const addressOf = ({ subchannel }: PickResult): string | undefined => subchannel?.getAddress();

const refuse = (): PickResult => ({
  pickResultType: PickResultType.DROP,
  subchannel: null,
  status: { code: status.UNAVAILABLE, details: nowhereElse, metadata: new Metadata() },
  onCallStarted: null,
  onCallEnded: null,
});
