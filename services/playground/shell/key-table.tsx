import { areSingleKeysOn, shortcuts, type Shortcut } from '../session/keys.ts';
import { signsOf } from '../session/key-names.ts';
import { Modal } from '../ui/modal.tsx';
import { isKeyTableOpen } from './dialogs.ts';
import { isMac } from './platform.ts';

/** Lists the shortcuts that work here, and switches those of single keys on and off. */
export function KeyTable() {
  const listed = shortcuts.value.filter(({ keys }) => keys !== '');
  // A view and a part of it may have the same one.
  const distinct = [...new Map(listed.map((each) => [`${each.group} ${each.keys}`, each])).values()];
  const close = (): void => {
    isKeyTableOpen.value = false;
  };
  return (
    <Modal title="Keyboard" onClose={close}>
      {[...Map.groupBy(distinct, ({ group }) => group)].map(([group, table]) => (
        <section key={group} aria-label={group}>
          <h3>{group}</h3>
          <table class="key-table">
            <tbody>
              {table.map((each) => (
                <KeyRow key={each.keys} of={each} />
              ))}
            </tbody>
          </table>
        </section>
      ))}
      <label class="inline">
        <input
          type="checkbox"
          checked={areSingleKeysOn.value}
          onChange={(event) => {
            areSingleKeysOn.value = event.currentTarget.checked;
          }}
        />
        Single keys do something
      </label>
      <div class="row row-end">
        <button type="button" autofocus onClick={close}>
          Close
        </button>
      </div>
    </Modal>
  );
}

const KeyRow = ({ of: { keys, text } }: { readonly of: Shortcut }) => (
  <tr>
    <td>{text}</td>
    <td>
      {signsOf(keys, isMac).map((sign, index) => (
        <kbd key={index}>{sign}</kbd>
      ))}
    </td>
  </tr>
);
