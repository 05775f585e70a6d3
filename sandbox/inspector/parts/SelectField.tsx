/** A choice of one of a few values, with its name before it. */
import { Button, Label, ListBox, ListBoxItem, Popover, Select, SelectValue } from 'react-aria-components'
import { Icon } from './Icon.tsx'

export interface SelectFieldProps {
  label: string
  value: string
  options: readonly (readonly [value: string, label: string])[]
  /** Whether it differs from its default, which is shown. */
  isSet?: boolean
  onChange(value: string): void
}

export function SelectField({ label, value, options, isSet, onChange }: SelectFieldProps) {
  return (
    <Select
      className="field select"
      selectedKey={value}
      onSelectionChange={(key) => {
        if (key !== null) onChange(String(key))
      }}
    >
      <span className="field-box bar" data-set={isSet || undefined}>
        <Label className="faint">{label}</Label>
        <Button className="bar">
          <SelectValue className="clipped" />
          <Icon name="chevron" />
        </Button>
      </span>
      <Popover className="popover" placement="bottom start">
        <ListBox className="options scroller">
          {options.map(([id, text]) => (
            <ListBoxItem key={id} id={id} className="option" textValue={text}>
              {text}
            </ListBoxItem>
          ))}
        </ListBox>
      </Popover>
    </Select>
  )
}
