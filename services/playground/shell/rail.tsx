import { useSignal } from '@preact/signals';
import { isReachable, signInReason, token } from '../session/session.ts';
import { route, toHash, type View } from '../session/route.ts';
import { theme, themes } from '../session/theme.ts';
import { useWaitingCount, waitingCount } from '../session/waiting-count.ts';
import { grouped } from '../ui/format.ts';
import { Icon } from '../ui/icon.tsx';
import { Modal } from '../ui/modal.tsx';
import { isPaletteOpen } from './dialogs.ts';
import { places, type Place } from './places.ts';
import { signsOf } from '../session/key-names.ts';
import { isMac } from './platform.ts';

/** The navigation: words on a desk, signs where it is narrow, a bar at the bottom of a phone. */
export function Rail() {
  const open = route.value.unknown === undefined ? route.value.view : undefined;
  const isMoreOpen = useSignal(false);
  useWaitingCount();
  const isRestOpen = places().some(({ view, isFirst }) => view === open && isFirst !== true);
  return (
    <header class="rail">
      <a class="skip" href={toHash(route.value)} onClick={focusMain}>
        Skip to the content
      </a>
      <span class="brand">
        <Icon name="brand" />
        <b>Playground</b>
      </span>
      <button
        type="button"
        class="find"
        onClick={() => {
          isPaletteOpen.value = true;
        }}
      >
        <Icon name="search" />
        <span>Find or do</span>
        <kbd aria-hidden="true">{signsOf('mod+k', isMac)}</kbd>
      </button>
      <nav aria-label="Views">
        <ul>
          {places().map((place) => (
            <PlaceLink key={place.view} place={place} open={open} />
          ))}
          <li class="place-rest">
            <a href="/docs">
              <Icon name="docs" />
              <span>Docs</span>
            </a>
          </li>
          <li class="place-more">
            <button
              type="button"
              aria-haspopup="dialog"
              aria-current={isRestOpen ? 'page' : undefined}
              onClick={() => {
                isMoreOpen.value = true;
              }}
            >
              <Icon name="more" />
              <span>More</span>
            </button>
          </li>
        </ul>
      </nav>
      <div class="rail-foot">
        <span class={isReachable.value ? 'live' : 'live live-lost'}>
          {isReachable.value ? 'Live' : 'Not connected'}
        </span>
        <Settings />
      </div>
      {isMoreOpen.value && (
        <More
          open={open}
          onClose={() => {
            isMoreOpen.value = false;
          }}
        />
      )}
    </header>
  );
}

interface PlaceLinkProps {
  readonly place: Place;
  readonly open: View | undefined;
  readonly onClick?: () => void;
}

function PlaceLink({ place: { view, title, isFirst, isApart }, open, onClick }: PlaceLinkProps) {
  const classes = [isFirst !== true && 'place-rest', isApart === true && 'place-apart'].filter(Boolean).join(' ');
  return (
    <li class={classes}>
      <a href={toHash({ view })} aria-current={view === open ? 'page' : undefined} onClick={onClick}>
        <Icon name={view} />
        <span>{title}</span>
        {view === 'inbox' && <Waiting />}
      </a>
    </li>
  );
}

/** More are not counted where there is room for two signs. */
const mostShown = 99;

/** How many threads wait for a person; nothing where none does. */
function Waiting() {
  const { count = 0, isAtLeast = false } = waitingCount.value ?? {};
  if (count === 0) return null;
  const isMore = isAtLeast || count > mostShown;
  return (
    <b class="place-count">
      {grouped(Math.min(count, mostShown))}
      {isMore && '+'}
      <span class="unseen"> waiting</span>
    </b>
  );
}

interface MoreProps {
  readonly open: View | undefined;
  readonly onClose: () => void;
}

/** What the bar of a phone has no room for. */
function More({ open, onClose }: MoreProps) {
  return (
    <Modal title="More" onClose={onClose}>
      <nav aria-label="More views">
        <ul class="places-more">
          {places()
            .filter(({ isFirst }) => isFirst !== true)
            .map((place) => (
              <PlaceLink key={place.view} place={place} open={open} onClick={onClose} />
            ))}
          <li>
            <a href="/docs">
              <Icon name="docs" />
              Docs
            </a>
          </li>
        </ul>
      </nav>
      <div class="row">
        <Settings />
        <button type="button" onClick={onClose}>
          Close
        </button>
      </div>
    </Modal>
  );
}

/** The theme, and the token where there is one. */
function Settings() {
  const turn = (): void => {
    theme.value = themes[(themes.indexOf(theme.peek()) + 1) % themes.length] ?? 'system';
  };
  return (
    <>
      {token.value !== '' && (
        <button
          type="button"
          class="button-quiet"
          aria-label="Change token"
          onClick={() => {
            signInReason.value = 'wanted';
          }}
        >
          Token
        </button>
      )}
      <button
        type="button"
        class="button-quiet button-sign"
        aria-label={`Theme: ${theme.value}`}
        title={`Theme: ${theme.value}`}
        onClick={turn}
      >
        <Icon name="theme" />
      </button>
    </>
  );
}

function focusMain(event: Event): void {
  event.preventDefault();
  document.getElementById('content')?.focus();
}
