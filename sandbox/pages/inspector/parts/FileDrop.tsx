import { Button, DropZone, FileTrigger, Text } from 'react-aria-components'

interface FileDropProps {
  /** What to drop; replaced by the name of the file that was chosen. */
  label: string
  /** The file that is shown; null before one is chosen. */
  name?: string | null
  /** Which files there are, in a sentence. */
  remark: string
  types: readonly string[]
  onChoose(load: () => Promise<File>): void
}

/** Where a file is dropped, pasted or chosen. */
export function FileDrop({ label, name = null, remark, types, onChoose }: FileDropProps) {
  return (
    <DropZone
      className="file-drop"
      getDropOperation={() => 'copy'}
      onDrop={({ items }) => {
        const item = items.find(({ kind }) => kind === 'file')
        if (item?.kind === 'file') onChoose(() => item.getFile())
      }}
    >
      <Text slot="label">{name ?? label}</Text>
      <FileTrigger
        acceptedFileTypes={types}
        onSelect={(files) => {
          const file = files?.[0]
          if (file !== undefined) onChoose(async () => file)
        }}
      >
        <Button className="small">{name === null ? 'Choose a file' : 'Choose another file'}</Button>
      </FileTrigger>
      <p className="faint tiny">{remark}</p>
    </DropZone>
  )
}
