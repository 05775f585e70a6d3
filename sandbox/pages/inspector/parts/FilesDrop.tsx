/** Where several files, or folders of them, are dropped or chosen. */
import { Button, type DropItem, DropZone, FileTrigger, Text } from 'react-aria-components'

/** A file, and its path below what was dropped. */
export interface NamedFile {
  name: string
  file: File
}

interface FilesDropProps {
  /** What to drop. */
  label: string
  /** Which files there are, in a sentence. */
  remark: string
  types: readonly string[]
  onChoose(load: () => Promise<NamedFile[]>): void
}

export function FilesDrop({ label, remark, types, onChoose }: FilesDropProps) {
  return (
    <DropZone
      className="file-drop"
      getDropOperation={() => 'copy'}
      onDrop={({ items }) => onChoose(() => listFiles(items))}
    >
      <Text slot="label">{label}</Text>
      <FileTrigger
        allowsMultiple
        acceptedFileTypes={types}
        onSelect={(files) => {
          if (files !== null) onChoose(async () => [...files].map((file) => ({ name: file.name, file })))
        }}
      >
        <Button className="small">Choose files</Button>
      </FileTrigger>
      <p className="faint tiny">{remark}</p>
    </DropZone>
  )
}

/** A folder that is dropped alone stands for its files. */
async function listFiles(items: readonly DropItem[], path = ''): Promise<NamedFile[]> {
  const found: NamedFile[] = []
  for (const item of items) {
    if (item.kind === 'file') found.push({ name: path + item.name, file: await item.getFile() })
    else if (item.kind === 'directory') {
      const inner = path === '' && items.length === 1 ? '' : `${path}${item.name}/`
      const entries: DropItem[] = []
      for await (const entry of item.getEntries()) entries.push(entry)
      found.push(...(await listFiles(entries, inner)))
    }
  }
  return found
}
