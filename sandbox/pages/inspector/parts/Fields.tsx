/** The fields of forms: each with a label, a hint and, where it is wrong, a message. */
import type { ComponentProps, ReactNode } from 'react'
import {
  Button,
  FieldError,
  Input,
  Label,
  ListBox,
  ListBoxItem,
  Popover,
  Radio,
  RadioGroup,
  Select,
  SelectValue,
  Switch,
  Text,
  TextArea,
  TextField,
} from 'react-aria-components'
import { Icon } from './Icon.tsx'

interface Described {
  label: string
  hint?: ReactNode
  problem?: string | undefined
}

function Hint({ children }: { children: ReactNode }) {
  if (children === undefined) return null
  return (
    <Text slot="description" className="hint faint">
      {children}
    </Text>
  )
}

/** A form that is sent by Enter and by its `submit` button. */
export function SubmitForm({ onSubmit, ...props }: Omit<ComponentProps<'form'>, 'onSubmit'> & { onSubmit(): unknown }) {
  return (
    <form
      {...props}
      onSubmit={(event) => {
        event.preventDefault()
        onSubmit()
      }}
    />
  )
}

interface TextInputProps extends Described {
  value: string
  onChange(value: string): void
  placeholder?: string
  /** Several lines: how many are shown. */
  rows?: number
  /** Whether it is code: JSON, an identifier, a path. */
  isCode?: boolean
  isNumeric?: boolean
}

export function TextInput(props: TextInputProps) {
  const { label, hint, problem, value, onChange, placeholder, rows, isCode, isNumeric } = props
  const shown = placeholder === undefined ? {} : { placeholder }
  const className = isCode ? 'input code-input' : 'input'
  return (
    <TextField className="form-field" value={value} onChange={onChange} isInvalid={problem !== undefined}>
      <Label className="soft">{label}</Label>
      {rows === undefined ? (
        <Input className={className} {...shown} {...(isNumeric ? { inputMode: 'numeric' } : {})} />
      ) : (
        <TextArea className={`${className} scroller`} {...shown} rows={rows} spellCheck={!isCode} />
      )}
      <Hint>{hint}</Hint>
      <FieldError className="field-problem">{problem}</FieldError>
    </TextField>
  )
}

interface ChoiceProps<Value extends string> extends Described {
  value: Value
  onChange(value: NoInfer<Value>): void
  values: readonly (readonly [value: NoInfer<Value>, label: string])[]
}

/** The item for the empty value: an empty key is not allowed. */
const none = '*'

type Selection<Value extends string> = Pick<ChoiceProps<Value>, 'value' | 'onChange' | 'values'>

function selection<Value extends string>({ value, onChange, values }: Selection<Value>) {
  return {
    selectedKey: value === '' ? none : value,
    onSelectionChange: (key: string | number | null) => choose(values, key === none ? '' : key, onChange),
  }
}

function choose<Value extends string>(
  values: ChoiceProps<Value>['values'],
  chosen: string | number | null,
  onChange: (value: Value) => void,
): void {
  for (const [value] of values) if (value === chosen) onChange(value)
}

/** A list that opens: for many values, or those that are not known in advance. */
export function SelectInput<const Value extends string>({ label, hint, value, onChange, values }: ChoiceProps<Value>) {
  return (
    <Select className="form-field select" {...selection<Value>({ value, onChange, values })}>
      <Label className="soft">{label}</Label>
      <Button className="field-box bar">
        <SelectValue className="clipped grow select-value" />
        <Icon name="chevron" />
      </Button>
      <Hint>{hint}</Hint>
      <Options values={values} />
    </Select>
  )
}

interface SelectFieldProps {
  label: string
  value: string
  options: readonly (readonly [value: string, label: string])[]
  /** Whether it differs from its default, which is made visible. */
  isSet?: boolean
  onChange(value: string): void
}

/** A choice of one of a few values, with its name before it: for filters. */
export function SelectField({ label, value, options, isSet, onChange }: SelectFieldProps) {
  return (
    <Select className="field select" {...selection({ value, onChange, values: options })}>
      <span className="field-box bar" data-set={isSet || undefined}>
        <Label className="faint">{label}</Label>
        <Button className="bar">
          <SelectValue className="clipped" />
          <Icon name="chevron" />
        </Button>
      </span>
      <Options values={options} />
    </Select>
  )
}

/** The list that a choice opens. */
function Options({ values }: { values: SelectFieldProps['options'] }) {
  return (
    <Popover className="popover" placement="bottom start">
      <ListBox className="options scroller">
        {values.map(([id, text]) => (
          <ListBoxItem key={id} id={id === '' ? none : id} className="option" textValue={text}>
            {text}
          </ListBoxItem>
        ))}
      </ListBox>
    </Popover>
  )
}

/** Radio buttons side by side: for few values. */
export function Segments<const Value extends string>({ label, hint, value, onChange, values }: ChoiceProps<Value>) {
  return (
    <RadioGroup
      className="form-field"
      orientation="horizontal"
      value={value}
      onChange={(next) => choose<Value>(values, next, onChange)}
    >
      <Label className="soft">{label}</Label>
      <div className="segments bar">
        {values.map(([id, text]) => (
          <Radio key={id} value={id} className="segment label soft">
            {text}
          </Radio>
        ))}
      </div>
      <Hint>{hint}</Hint>
    </RadioGroup>
  )
}

interface ToggleProps {
  label: string
  hint?: ReactNode
  isOn: boolean
  onChange(isOn: boolean): void
}

export function Toggle({ label, hint, isOn, onChange }: ToggleProps) {
  return (
    <div className="form-field">
      <Switch className="switch bar" isSelected={isOn} onChange={onChange}>
        <span className="switch-track" />
        {label}
      </Switch>
      {hint !== undefined && <p className="hint faint">{hint}</p>}
    </div>
  )
}
